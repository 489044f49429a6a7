// Passwords, tokens and keys are never shown, whichever store refuses them, and with whichever client: not in an error with all its causes, not in an event, a line of a log, or a warning of the process.
// test/stores/redis/secrets.test.ts says the same of Redis.
import { spawnSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { inspect } from "node:util";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import pg from "pg";
import sql from "postgres";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createCandidate, openStore } from "conclave";
import { etcdFence } from "conclave/fencing/etcd";
import { dynamodb } from "conclave/stores/dynamodb";
import { etcd } from "conclave/stores/etcd";
import { kubernetes } from "conclave/stores/kubernetes";
import { postgres } from "conclave/stores/postgres";
import { zookeeper } from "conclave/stores/zookeeper";
import type { Store } from "conclave/stores/contract";
import * as etcdServer from "../../scripts/servers/etcd.mjs";
import * as kubernetesServer from "../../scripts/servers/kubernetes.mjs";
import * as postgresServer from "../../scripts/servers/postgres.mjs";
import { privateFolder } from "../../scripts/servers/process.mjs";
import * as zookeeperServer from "../../scripts/servers/zookeeper.mjs";
import { passwordHidden } from "../../src/base/url.ts";
import { allThatIsShown, overheard } from "../support/secrets.ts";
import { useServers } from "../support/servers.ts";
import { by } from "../fencing/tokens.ts";
import { byHand } from "../stores/postgres/stage.ts";

const SECRET = "geheimnis";
const PATIENT = { timeout: 30_000 };
const own = privateFolder("secrets");
afterAll(() => own.remove());

/** Refused with this, and the secret occurs nowhere. */
async function hidden(store: Store, refused: RegExp): Promise<void> {
  const shown = await allThatIsShown(store);
  expect(shown).toMatch(refused);
  expect(shown).not.toContain(SECRET);
}

describe("a password with signs that a URL wants to be escaped", () => {
  const PLACES = {
    redis: "127.0.0.1:1/0",
    rediss: "127.0.0.1:1/0",
    postgres: "127.0.0.1:1/app",
    etcd: "127.0.0.1:1",
    zookeeper: "127.0.0.1:1",
    dynamodb: "conclave?region=eu&endpoint=http://127.0.0.1:1",
  };
  const SIGNS = ["@", "/", "?", "#", "%", "%zz", ":", " ", "[", "\\", ","];

  it.each(Object.entries(PLACES))(
    "is not repeated, whole or in part, where the URL is not understood: %s",
    async (scheme, place) => {
      for (const sign of SIGNS) {
        const url = `${scheme}://user:${SECRET}${sign}${SECRET}@${place}`;
        const shown = await overheard(async (show) => {
          const store = await openStore(url);
          show(await store.look([{ name: "x" }], { signal: AbortSignal.timeout(1000), sentAtMs: 0 }));
          await store.close();
        });
        expect(shown, url).not.toContain(SECRET);
      }
      expect(passwordHidden(`${scheme}://user:${SECRET}@${SECRET}@${place}`)).not.toContain(SECRET);
    },
  );
});

describe("a password in a URL that is right", () => {
  it.each([
    ["redis", "127.0.0.1:1/0", { unfenced: true }],
    ["postgres", "127.0.0.1:1/app", {}],
    ["etcd", "127.0.0.1:1", {}],
    ["zookeeper", "127.0.0.1:1", {}],
    ["dynamodb", "conclave?region=eu&endpoint=http://127.0.0.1:1", {}],
  ])("is not printed with the store, or with a candidate of it: %s", async (scheme, place, accepted) => {
    const store = await openStore(`${scheme}://user:${SECRET}@${place}`);
    const candidate = createCandidate({ store, ...accepted } as never);
    const printed = inspect([store, candidate, candidate.election("x")], { depth: 12, maxStringLength: null });
    expect(printed).not.toContain(SECRET);
    expect(JSON.stringify({ ...store, guarantee: undefined })).not.toContain(SECRET);
    await candidate.close();
    await store.close();
  });
});

describe("PostgreSQL", PATIENT, () => {
  const servers = useServers(postgresServer);
  const url = (): string => (servers().urls[0] ?? "").replace("postgres@", `guest:${SECRET}@`);
  beforeAll(() => byHand(servers().urls[0] ?? "", "CREATE ROLE guest LOGIN PASSWORD 'right'"));
  const refused = /STORE_DENIED[^]*does not accept this user or password/;

  it("a wrong password, with connections of our own and with pg's Pool", async () => {
    await hidden(postgres(url()), refused);
    await hidden(postgres(url(), { connections: "pool" }), refused);
  });

  it("a wrong password in a client of the user's", async () => {
    const pool = new pg.Pool({ connectionString: url() });
    await hidden(postgres(pool), refused);
    await pool.end();
    const porsager = sql(url(), { onnotice: () => {} });
    await hidden(postgres(porsager), refused);
    await porsager.end();
  });
});

describe("etcd", PATIENT, () => {
  const servers = useServers(etcdServer);
  const at = (): string => servers().urls[0] ?? "";
  const url = (): string => `etcd://root:${SECRET}@${new URL(at()).host}`;
  beforeAll(() => {
    for (const said of [
      ["user", "add", "root:right"],
      ["user", "grant-role", "root", "root"],
      ["auth", "enable"],
    ])
      spawnSync("etcdctl", [`--endpoints=${at()}`, ...said], { env: { ...process.env, ETCDCTL_API: "3" } });
  });

  it("a wrong password, of a store and of a guard", async () => {
    await hidden(etcd(url()), /STORE_DENIED[^]*authentication failed/);
    const fence = etcdFence(url());
    const shown = await overheard(async () => await fence.raise("r", by(1)));
    expect(shown).toMatch(/STORE_DENIED[^]*authentication failed/);
    expect(shown).not.toContain(SECRET);
    await fence.close();
  });
});

describe("ZooKeeper", PATIENT, () => {
  const servers = useServers(zookeeperServer);
  const url = (user: string): string => (servers().urls[0] ?? "").replace(/:\/\/([^/?]+)\/?/, `://${user}@$1/mine`);

  it("a wrong password", async () => {
    await using owner = createCandidate({ store: zookeeper(url("anna:right")), ttlMs: 8000 });
    await owner.withLock("x", async () => {});
    await hidden(zookeeper(url(`anna:${SECRET}`)), /STORE_DENIED[^]*wrong password shows as a missing right/);
  });
});

describe("Kubernetes", PATIENT, () => {
  let ran: Awaited<ReturnType<typeof kubernetesServer.start>>;
  beforeAll(async () => void (ran = await kubernetesServer.start({ tokens: { right: "pod" }, rights: { pod: [] } })));
  afterAll(async () => await ran.stop());
  const storeOf = (user: object): Store => {
    const file = path.join(own.folder, "kubeconfig");
    const context = { cluster: "c", user: "u", namespace: "elections" };
    const config = {
      clusters: [{ name: "c", cluster: { server: ran.server } }],
      contexts: [{ name: "x", context }],
      "current-context": "x",
      users: [{ name: "u", user }],
    };
    writeFileSync(file, JSON.stringify(config));
    return kubernetes(`kubernetes:?kubeconfig=${encodeURIComponent(file)}`);
  };
  const plugin = (text: string): object => {
    const command = path.join(own.folder, "plugin");
    writeFileSync(command, `#!/bin/sh\n${text}\n`);
    chmodSync(command, 0o755);
    const env = [{ name: "CLIENT_SECRET", value: SECRET }];
    return { exec: { apiVersion: "client.authentication.k8s.io/v1", command, args: ["--secret", SECRET], env } };
  };

  it("a token that nobody knows", async () => {
    await hidden(storeOf({ token: SECRET }), /STORE_DENIED[^]*401/);
    writeFileSync(path.join(own.folder, "token"), SECRET);
    await hidden(storeOf({ tokenFile: path.join(own.folder, "token") }), /STORE_DENIED[^]*401/);
  });

  it.each([
    ["prints what is no JSON", `echo ${SECRET}`, /no JSON/],
    ["prints half of a credential", `echo '{"status":{"token":"${SECRET}"'`, /no JSON/],
    ["prints a credential without a status", `echo '{"token":"${SECRET}"}'`, /neither token nor certificate/],
    ["prints its token and fails", `echo ${SECRET}; exit 3`, /STORE_DENIED[^]*it ended with 3/],
    ["ends by a signal", "kill -9 $$", /STORE_DENIED[^]*SIGKILL/],
  ])("a program that %s", async (_what, text, refused) => {
    await hidden(storeOf(plugin(text)), refused);
  });

  it("a program that is not there", async () => {
    const { exec } = plugin("") as { exec: object };
    await hidden(storeOf({ exec: { ...exec, command: "./nobody" } }), /STORE_DENIED[^]*ENOENT/);
  });
});

describe("DynamoDB", PATIENT, () => {
  const refusing = createServer((request, response) => {
    request.resume();
    response.writeHead(400, { "content-type": "application/x-amz-json-1.0" });
    response.end(JSON.stringify({ __type: "UnrecognizedClientException", message: "The security token is invalid." }));
  });
  beforeAll(() => new Promise<void>((resolve) => refusing.listen(0, "127.0.0.1", resolve)));
  afterAll(() => void refusing.close());
  const endpoint = (): string => `http://127.0.0.1:${(refusing.address() as AddressInfo).port}`;
  const refused = /STORE_DENIED[^]*does not accept the credentials/;

  it("a wrong key in a URL", async () => {
    const at = `region=eu-central-1&endpoint=${encodeURIComponent(endpoint())}`;
    await hidden(dynamodb(`dynamodb://KEY:${SECRET}@conclave?${at}`), refused);
  });

  it("a token of a session, from the environment and in a client of the user's", async () => {
    vi.stubEnv("AWS_ACCESS_KEY_ID", "KEY");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", SECRET);
    vi.stubEnv("AWS_SESSION_TOKEN", SECRET);
    await hidden(
      dynamodb(`dynamodb://conclave?region=eu-central-1&endpoint=${encodeURIComponent(endpoint())}`),
      refused,
    );
    vi.unstubAllEnvs();
    const credentials = { accessKeyId: "KEY", secretAccessKey: SECRET, sessionToken: SECRET };
    const client = new DynamoDBClient({ region: "eu-central-1", endpoint: endpoint(), credentials, maxAttempts: 1 });
    await hidden(dynamodb(client, { table: "conclave" }), refused);
    client.destroy();
  });
});
