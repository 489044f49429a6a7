// A server that is not there, or is another kind of server, is told of in the same words whatever the store: somebody who knows the message of one store knows that of all.
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Server } from "node:net";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openStore } from "conclave";
import { type Refused, type Unknown } from "conclave/stores/contract";

let folder = "";
let http: Server;
let ssh: Server;
const portOf = (server: Server): number => (server.address() as AddressInfo).port;
const listening = (server: Server): Promise<void> =>
  new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve()));

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "conclave-reasons-"));
  http = createHttpServer((_request, response) => response.end("<html>no database</html>"));
  ssh = createServer((socket) => {
    socket.on("error", () => {}); // the other side gives up
    socket.write("SSH-2.0-OpenSSH_9.2\r\n");
  });
  await Promise.all([listening(http), listening(ssh)]);
});
afterAll(() => {
  http.close();
  ssh.close();
  rmSync(folder, { recursive: true });
});

/** The URL of each store that is reached over a network, with a server at this place. */
const URLS: Readonly<Record<string, (host: string) => string>> = {
  dynamodb: (host) => `dynamodb://id:key@conclave?region=local&endpoint=http://${host}`,
  etcd: (host) => `etcd://${host}`,
  kubernetes: (host) => `kubernetes://default?kubeconfig=${encodeURIComponent(kubeconfig(host))}`,
  postgres: (host) => `postgres://app@${host}/app`,
  redis: (host) => `redis://${host}`,
  "redis with node-redis": (host) => `redis://${host}?conclave_client=redis`,
  zookeeper: (host) => `zookeeper://${host}`,
};

function kubeconfig(host: string): string {
  const file = path.join(folder, "kubeconfig");
  const config = {
    "current-context": "here",
    contexts: [{ name: "here", context: { cluster: "here", user: "me" } }],
    clusters: [{ name: "here", cluster: { server: `http://${host}` } }],
    users: [{ name: "me", user: { token: "t" } }],
  };
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  return file;
}

async function lookAt(url: string): Promise<Refused | Unknown> {
  const store = await openStore(url);
  try {
    const answer = await store.look([{ name: "x" }], { signal: AbortSignal.timeout(8000), sentAtMs: 0 });
    if (answer.kind === "seen") throw new Error("a server that is no store has answered");
    return answer;
  } finally {
    await store.close();
  }
}

describe.each(Object.entries(URLS))("%s", (_name, urlOf) => {
  it("says of a server that is not there why, what to look at, and that it is tried again", async () => {
    const refused = await lookAt(urlOf("127.0.0.1:1"));
    expect(refused).toMatchObject({ kind: "refused", code: "STORE_UNREACHABLE", retryable: true });
    expect((refused as Refused).message).toMatch(
      /^\w+: \S*127\.0\.0\.1:1\S* cannot be reached \(ECONNREFUSED\): nothing listens there\. (?:Is it running, and is the address right\?|Check region, endpoint and network\.) It is tried again\.$/,
    );
  });

  it("says of a host that has no address that its name is not found", async () => {
    expect((await lookAt(urlOf("nobody.invalid:7"))) as Refused).toMatchObject({
      code: "STORE_UNREACHABLE",
      message: expect.stringMatching(
        /nobody\.invalid\S* cannot be reached \((?:ENOTFOUND\): its host is not a name that can be found\.|EAI_AGAIN\): its host is a name that cannot be looked up now\.) (?:Is it|Check) .*It is tried again\.$/,
      ) as unknown,
    });
  });
});

// An answer that cannot be read is unknown, so nothing may be said as a refusal where the request has left.
describe("another kind of server", () => {
  it.each(["etcd", "zookeeper"])("%s: one that closes the connection at once may be one", async (store) => {
    expect(((await lookAt(URLS[store]?.(`127.0.0.1:${portOf(http)}`) ?? "")) as Refused).message).toMatch(
      /closed the connection at once: .*it is stopping, .*another kind of server listens there, or it expects TLS \(then write \w+s:\/\/\)\./,
    );
  });

  it.each(["own", "ioredis"])("redis, by %s: one that answers in another protocol", async (client) => {
    for (const server of [http, ssh]) {
      const { message } = (await lookAt(`redis://127.0.0.1:${portOf(server)}?conclave_client=${client}`)) as Refused;
      expect(message).toMatch(
        /does not answer as Redis does \(.*\)\. Is it Redis or Valkey that listens there\? It is/,
      );
      expect(message).not.toContain("report");
    }
  });
});
