// What people get wrong with etcd, and what they are told: a code, what is wrong, what to do; nothing of theirs overwritten, no password repeated.
import { createServer, type Socket } from "node:net";
import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createCandidate, elect, isConclaveError } from "conclave";
import { etcd } from "conclave/stores/etcd";
import * as etcdServer from "../../../scripts/servers/etcd.mjs";
import { privateFolder } from "../../../scripts/servers/process.mjs";
import type { Bid } from "conclave/stores/contract";
import { useServers } from "../../support/servers.ts";
import { open } from "../moves.ts";
import { type Certificates, makeCertificates } from "./certificates.ts";
import { urlOf } from "./etcd.ts";

const own = privateFolder("etcd-certificates");
const files: Certificates = makeCertificates(own.folder);
afterAll(() => own.remove());

function etcdctl(url: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync("etcdctl", [`--endpoints=${url}`, ...args], {
    encoding: "utf8",
    // A user by flag and one by the environment are refused together.
    env: { ...process.env, ETCDCTL_API: "3", ...(args[0]?.startsWith("--user=") ? { ETCDCTL_USER: undefined } : {}) },
  });
  if (status !== 0) throw new Error(`etcdctl ${args.join(" ")} failed: ${stderr}`);
  return stdout;
}

/** What a first campaign is told. */
async function refusalOf(url: string, name = "x"): Promise<{ code: string; message: string }> {
  const election = elect(name, { store: etcd(url), ttlMs: 2000, drainMs: 100 });
  try {
    await election.campaign({ signal: AbortSignal.timeout(10_000) });
  } catch (error) {
    if (!isConclaveError(error)) throw error;
    expect(error.message).not.toMatch(/geheim/);
    return { code: error.code, message: error.message };
  } finally {
    await election.close();
  }
  throw new Error("nothing was wrong");
}

/** What a look is told, where trying again might help and a campaign goes on. */
async function lookRefused(url: string): Promise<string> {
  const store = etcd(url);
  const looked = await store.look([{ name: "x" }], { signal: AbortSignal.timeout(1500), sentAtMs: 0 });
  await store.close();
  if (looked.kind !== "refused") throw new Error(`not refused: ${looked.kind}`);
  return `${looked.code}${looked.retryable ? " retryable" : ""}: ${looked.message}`;
}

describe("users and rights", () => {
  const servers = useServers(etcdServer, { args: ["--auth-token-ttl=1"], auth: false });
  const url = (user: string): string => urlOf(servers()).replace("etcd://", `etcd://${user}@`);
  beforeAll(() => {
    const [server = ""] = servers().urls;
    etcdctl(server, "put", "x/", "before users were made");
    etcdctl(server, "user", "add", "root:geheim");
    etcdctl(server, "role", "add", "billing");
    etcdctl(server, "role", "grant-permission", "billing", "readwrite", "--prefix=true", "billing/");
    etcdctl(server, "user", "add", "app:geheim%");
    etcdctl(server, "user", "grant-role", "root", "root");
    etcdctl(server, "user", "grant-role", "app", "billing");
    etcdctl(server, "auth", "enable");
  });

  it("a wrong password is said, and not repeated", async () => {
    expect(await refusalOf(url("app:geheimnis"))).toEqual({
      code: "STORE_DENIED",
      message: expect.stringMatching(/authentication failed.*Correct user and password in the URL/) as unknown,
    });
  });

  it("no user where one is wanted", async () => {
    expect(await refusalOf(urlOf(servers()), "billing")).toEqual({
      code: "STORE_DENIED",
      message: expect.stringMatching(/asks who we are.*etcd:\/\/user:password@/) as unknown,
    });
  });

  it("a missing right, with the command that gives it", async () => {
    expect(await refusalOf(url("app:geheim%25"), "other")).toEqual({
      code: "STORE_DENIED",
      message: expect.stringMatching(/grant-permission ROLE readwrite --prefix=true 'other\/'/) as unknown,
    });
  });

  it("a user with rights below its names leads, and goes on when its token has expired", async () => {
    await using candidate = createCandidate({ store: etcd(url("app:geheim%25")), ttlMs: 2000, drainMs: 100 });
    const errors: string[] = [];
    candidate.subscribe(
      (event) => event.type === "error" && event.error.code === "STORE_DENIED" && errors.push(event.error.message),
    );
    const term = await candidate.election("billing").campaign();
    await new Promise((resolve) => setTimeout(resolve, 5000));
    expect({ held: term.isHeld(), errors }).toEqual({ held: true, errors: [] });
    const [server = ""] = servers().urls;
    etcdctl(server, "--user=root:geheim", "role", "grant-permission", "billing", "readwrite", "more/");
    await term.renew();
    expect({ held: term.isHeld(), errors }).toEqual({ held: true, errors: [] });
    await term.resign();
  });
});

describe("TLS", () => {
  const plain = useServers(etcdServer);
  const secure = useServers(etcdServer, { tls: { ...files, clientAuth: false } });
  const mutual = useServers(etcdServer, {
    tls: {
      ca: files.ca,
      cert: files.cert,
      key: files.key,
      clientAuth: true,
      clientCert: files.clientCert,
      clientKey: files.clientKey,
    },
  });
  const hostOf = (servers: typeof plain): string => new URL(servers().urls[0] ?? "").host;
  const client = `cert=${files.clientCert}&key=${files.clientKey}`;

  it.each([
    ["a certificate signed by the authority passed", () => `etcds://${hostOf(secure)}?ca=${files.ca}`],
    ["a client certificate", () => `etcds://${hostOf(mutual)}?ca=${files.ca}&${client}`],
    ["the name in the certificate", () => `etcds://${hostOf(secure)}?ca=${files.ca}&servername=etcd.test`],
  ])("leads with %s", async (_what, url) => {
    await using candidate = createCandidate({ store: etcd(url()), ttlMs: 2000 });
    expect((await candidate.election("x").campaign()).isHeld()).toBe(true);
  });

  it.each([
    ["an unknown authority", () => `etcds://${hostOf(secure)}`, /cannot be verified .*\?ca=FILE/],
    ["another authority", () => `etcds://${hostOf(secure)}?ca=${files.otherCa}`, /cannot be verified .*\?ca=FILE/],
    ["another name", () => `etcds://${hostOf(secure)}?ca=${files.ca}&servername=a.b`, /another name .*servername/],
    ["no client certificate", () => `etcds://${hostOf(mutual)}?ca=${files.ca}`, /pass one, as \?cert=FILE&key=FILE/],
    [
      "a client certificate of another authority",
      () =>
        `etcds://${hostOf(mutual)}?ca=${files.ca}&cert=${files.otherCa}&key=${files.otherCa.replace(".pem", ".key")}`,
      /does not accept the client certificate/,
    ],
  ])("%s", async (_what, url, message) => {
    expect(await refusalOf(url())).toEqual({
      code: "STORE_DENIED",
      message: expect.stringMatching(message) as unknown,
    });
  });

  it("the wrong scheme, which looks like a server that is just stopping: tried again, and said", async () => {
    expect(await lookRefused(`etcds://${hostOf(plain)}`)).toMatch(
      /^STORE_UNREACHABLE retryable: .*does not speak TLS \(then write etcd:\/\/\)/,
    );
    expect(await lookRefused(`etcd://${hostOf(secure)}`)).toMatch(
      /^STORE_UNREACHABLE retryable: .*expects TLS \(then write etcds:\/\/\)/,
    );
  });
});

describe("reaching it", () => {
  const servers = useServers(etcdServer);
  const others = useServers(etcdServer);
  const sockets = new Set<Socket>();
  /** Accepts and never says a word, as a server behind a black hole does. */
  const silent = createServer((socket) => sockets.add(socket.on("error", () => {})));
  let silentPort = 0;
  beforeAll(async () => {
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    silentPort = (silent.address() as { port: number }).port;
  });
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });

  it("nobody there: refused as not applied, and tried again", async () => {
    expect(await lookRefused("etcd://127.0.0.1:1")).toMatch(
      /^STORE_UNREACHABLE retryable: etcd: 127.0.0.1:1 cannot be reached \(ECONNREFUSED\): nothing listens there/,
    );
    expect(await lookRefused("etcd://no-such-host.invalid")).toMatch(
      /^STORE_UNREACHABLE retryable: .*is (?:not )?a name/,
    );
    expect(await lookRefused(`etcd://127.0.0.1:${silentPort}`)).toMatch(/^STORE_UNREACHABLE retryable: .*in time/);
  });

  it("endpoints that are down or silent are passed over", async () => {
    const [url = ""] = servers().urls;
    const store = etcd(urlOf(servers(), "http://127.0.0.1:1", `http://127.0.0.1:${silentPort}`, url));
    await using candidate = createCandidate({ store, ttlMs: 3000 });
    expect((await candidate.election("x").campaign()).isHeld()).toBe(true);
  });

  it("endpoints of two clusters are refused when the second is met", async () => {
    const [here, there] = [servers(), others()];
    const store = etcd(`${urlOf(here)},${new URL(there.urls[0] ?? "").host}`);
    const call = () => ({ signal: AbortSignal.timeout(1500), sentAtMs: 0 });
    expect((await store.look([{ name: "two" }], call())).kind).toBe("seen");
    await here.nodes[0]?.kill();
    await expect
      .poll(async () => JSON.stringify(await store.look([{ name: "two" }], call())))
      .toMatch(/STORE_(?:UNREACHABLE|FOREIGN_DATA).*belongs to cluster/);
    await store.close();
    await here.nodes[0]?.restart();
  });

  it("says what it needs where a URL is wrong, without a password", () => {
    for (const url of [
      "etcd://",
      "http://a",
      "etcd://a:x",
      "etcd://u:geheim@a/p?colour=1",
      "etcds://a?ca=/nowhere.pem",
      "etcd://a?ca=f",
    ])
      expect(() => etcd(url), url).toThrow(
        expect.objectContaining({
          code: "CONFIG_INVALID",
          message: expect.not.stringMatching(/geheim/) as unknown,
        }) as Error,
      );
  });
});

describe("what stands there already", () => {
  const servers = useServers(etcdServer);

  it("data below the name that no lease carries is refused, and left as it is", async () => {
    const [server = ""] = servers().urls;
    etcdctl(server, "put", "jobs/config", "precious");
    expect(await refusalOf(urlOf(servers()), "jobs")).toEqual({
      code: "STORE_FOREIGN_DATA",
      message: expect.stringMatching(/jobs\/config is bound to no lease.*Nothing was overwritten/) as unknown,
    });
    expect(etcdctl(server, "get", "--prefix", "jobs/")).toBe("jobs/config\nprecious\n");
  });

  it.each([1_800_000, 2_500_000])("a value of %i bytes is refused for good, with what to do", async (bytes) => {
    const store = etcd(urlOf(servers()));
    const session = await open(store);
    const bid = `big.${bytes}` as Bid;
    const claim = { session, name: "big", bid, over: undefined, value: "v".repeat(bytes) };
    expect(await store.claim([claim], { signal: AbortSignal.timeout(5000), sentAtMs: 0 })).toMatchObject([
      {
        kind: "refused",
        code: "STORE_FULL",
        retryable: false,
        message: expect.stringMatching(
          /(?:too large|larger than max).*Nothing was written.*shorter value.*max-request-bytes/,
        ) as unknown,
      },
    ]);
    await store.close();
  });

  it("data further below belongs to others, and is no hindrance", async () => {
    const [server = ""] = servers().urls;
    etcdctl(server, "put", "shop/settings/colour", "red");
    await using candidate = createCandidate({ store: etcd(urlOf(servers())), ttlMs: 2000 });
    expect((await candidate.election("shop").campaign()).isHeld()).toBe(true);
    expect(etcdctl(server, "get", "shop/settings/colour")).toBe("shop/settings/colour\nred\n");
  });

  it("keeps everything below the prefix of the URL", async () => {
    const [server = ""] = servers().urls;
    await using candidate = createCandidate({ store: etcd(`${urlOf(servers())}/team%2Fa/`), ttlMs: 2000 });
    await candidate.election("x").campaign();
    expect(etcdctl(server, "get", "--prefix", "--keys-only", "team/a/")).toMatch(/^team\/a\/x\/[0-9a-f]+$/m);
  });
});
