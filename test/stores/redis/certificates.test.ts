// A redis-server that asks its clients for certificates, which it does by default once it speaks TLS: a URL names ours, for whatever opens it, and who shows none is told which settings to write.
import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { redisFence } from "conclave/fencing/redis";
import { redis } from "conclave/stores/redis";
import { privateFolder } from "../../../scripts/servers/process.mjs";
import * as server from "../../../scripts/servers/redis.mjs";
import { RedisLink } from "../../../src/clients/redis/link.ts";
import { parseUrl } from "../../../src/clients/redis/url.ts";
import { CommandLine } from "../../cli/command.ts";
import { by } from "../../fencing/tokens.ts";
import { useServers } from "../../support/servers.ts";
import { makeCertificates } from "../etcd/certificates.ts";
import { call, hold, open } from "../moves.ts";
import { severalUrl, untilItVotes } from "./stage.ts";

const CLIENTS = ["own", "ioredis", "redis"] as const;
const own = privateFolder("redis-mutual");
const cli = new CommandLine();
afterAll(() => cli.end());
afterAll(() => own.remove());
const files = makeCertificates(own.folder);
const { cert, key, ca } = files;
const servers = useServers(server, { nodes: 3, tls: { cert, key, ca, clientAuth: true } });
const TRUSTED = `conclave_ca=${ca}`;
const OURS = `${TRUSTED}&conclave_cert=${files.clientCert}&conclave_key=${files.clientKey}`;
const at = (settings: string): string => `${servers().urls[0] ?? ""}?${settings}`;
const ADVICE = /certificate.*\?conclave_cert=FILE&conclave_key=FILE/;

/** What a look is told. */
async function told(settings: string, client: "own" | "ioredis" | "redis"): Promise<string> {
  const store = redis(at(settings), { client });
  const looked = await store.look([{ name: "x" }], call(AbortSignal.timeout(8000)));
  await store.close();
  if (looked.kind !== "refused") return JSON.stringify(looked);
  return `${looked.code}${looked.retryable ? " retryable" : ""}: ${looked.message}`;
}

describe.each(CLIENTS)("with %s", (client) => {
  it("our certificate lets us in: a store hears and leads", async () => {
    const [mine, theirs] = [redis(at(OURS), { client }), redis(at(OURS), { client })];
    const session = await open(mine);
    const held = await hold(mine, session, `mutual ${client}`);
    const hints = theirs.watch([{ name: held.name }], call())[Symbol.asyncIterator]();
    const hint = hints.next();
    await theirs.look([{ name: held.name }], call());
    await mine.release({ session, holds: [held], endSession: true }, call());
    expect((await hint).done).toBe(false);
    await hints.return?.();
    await Promise.all([mine.close(), theirs.close()]);
  });

  it("and so do several servers", async () => {
    const url = `${severalUrl(servers()).replace("redis:", "rediss:")}?${OURS}`;
    const store = redis(url, { client, maxTtlMs: 1000 });
    await untilItVotes(store);
    await store.close();
  });

  it("none is refused with the settings to write, each time", async () => {
    for (let tries = 0; tries < 5; tries++) {
      const refused = await told(TRUSTED, client);
      expect(refused).toMatch(ADVICE);
      expect(refused).not.toMatch(/does not speak TLS, and|write rediss:/);
    }
  });

  it("one of another authority, and files that are none, are said to be that", async () => {
    const stranger = `${TRUSTED}&conclave_cert=${files.otherCa}&conclave_key=${path.join(own.folder, "other.key")}`;
    expect(await told(stranger, client)).toMatch(/accept the certificate of conclave_cert\?.*tls-ca-cert-file/);
    const odd = path.join(own.folder, "odd.pem");
    writeFileSync(odd, "no certificate");
    expect(await told(`${TRUSTED}&conclave_cert=${odd}&conclave_key=${odd}`, client)).toMatch(
      /^STORE_DENIED: .*a file of the URL cannot be used/,
    );
    expect(await told(`${TRUSTED}&conclave_cert=${files.clientCert}&conclave_key=${key}`, client)).toMatch(
      /^STORE_DENIED: .*a file of the URL cannot be used/,
    );
  });
});

it("the command line, and what it starts beside a command, reach such a server", async () => {
  const store = ["--store", at(OURS)];
  const ran = await cli.run(["run", "job", ...store, "--unfenced", "--ttl", "2s", "--", "echo", "led"]);
  expect([ran.code, ran.stdout]).toEqual([0, "led\n"]);
  const killed = await cli.start(["run", "killed", ...store, "--unfenced", "--ttl", "60s", "--", "sleep", "60"]);
  const leads = async (): Promise<string> => (await cli.run(["leader", "killed", ...store])).stdout;
  await expect.poll(leads, { timeout: 20_000 }).toMatch(/leads "killed"/);
  killed.signal("SIGKILL");
  await expect.poll(leads, { timeout: 20_000 }).toMatch(/nobody leads/); // its keeper has given the name back
  const none = await cli.run(["leader", "job", "--store", at(TRUSTED)]);
  expect(none.code).not.toBe(0);
  expect(none.stderr).toMatch(ADVICE);
}, 90_000);

it("a guard, and a link of a failover, have it too", async () => {
  const fence = redisFence(at(OURS));
  await fence.raise("r", by(1));
  await fence.close();
  const refused = redisFence(at(TRUSTED));
  await expect(refused.raise("r", by(2))).rejects.toThrow(ADVICE);
  await refused.close();
  const [parsed] = parseUrl(at(OURS)).servers;
  const link = await RedisLink.open(parsed as NonNullable<typeof parsed>, 5000);
  expect(await link.ask(["PING"], 5000)).toBe("PONG");
  link.close();
});
