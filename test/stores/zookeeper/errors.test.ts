// What people get wrong with ZooKeeper, and what they are told: a code, what is wrong, what to do; nothing of theirs overwritten, no password repeated. And that TLS
// and users work when they are right.
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { ACL, createClient, CreateMode, Id, Permission } from "node-zookeeper-client";
import { afterAll, describe, expect, it } from "vitest";
import { createCandidate, elect, isConclaveError } from "conclave";
import { asBid, VACANT } from "conclave/stores/contract";
import { zookeeper } from "conclave/stores/zookeeper";
import { privateFolder } from "../../../scripts/servers/process.mjs";
import * as server from "../../../scripts/servers/zookeeper.mjs";
import { useServers } from "../../support/servers.ts";
import { type Certificates, makeCertificates } from "../etcd/certificates.ts";
import { answered, connected } from "./npm-client.ts";

const own = privateFolder("zookeeper-certificates");
const files: Certificates = makeCertificates(own.folder);
const store = path.join(own.folder, "store.pem");
writeFileSync(store, `${readFileSync(files.key, "utf8")}${readFileSync(files.cert, "utf8")}`);
afterAll(() => own.remove());

/** One server with all that these tests need; its plain port is beside the secure one. */
const servers = useServers(server, { words: ["conf"], tls: { store, trust: files.ca } });
const secure = (settings = `&ca=${files.ca}`): string => `${servers().urls[0] ?? ""}${settings}`;
const plain = async (): Promise<string> => {
  const config = readFileSync(path.join(path.dirname(servers().nodes[0]?.log ?? ""), "n0/zoo.cfg"), "utf8");
  return `127.0.0.1:${/^clientPort=(\d+)$/m.exec(config)?.[1] ?? ""}`;
};

/** What a first campaign is told. */
async function refusalOf(url: string, name = "x"): Promise<string> {
  const election = elect(name, { store: zookeeper(url), ttlMs: 8000, drainMs: 100 });
  try {
    await election.campaign({ signal: AbortSignal.timeout(10_000) });
  } catch (error) {
    if (!isConclaveError(error)) throw error;
    expect(error.message).not.toMatch(/geheim/);
    return `${error.code}: ${error.message}`;
  } finally {
    await election.close();
  }
  throw new Error("nothing was wrong");
}

/** What a look is told, where trying again might help and a campaign goes on. */
async function lookRefused(url: string): Promise<string> {
  const opened = zookeeper(url);
  const looked = await opened.look([{ name: "x" }], { signal: AbortSignal.timeout(5000), sentAtMs: 0 });
  await opened.close();
  if (looked.kind !== "refused") throw new Error(`not refused: ${looked.kind}`);
  return `${looked.code}${looked.retryable ? " retryable" : ""}: ${looked.message}`;
}

describe("TLS", () => {
  it("works with the authority that signed the server's certificate", async () => {
    await using candidate = createCandidate({ store: zookeeper(secure()), ttlMs: 4000 });
    expect((await candidate.election("secure").campaign()).isHeld()).toBe(true);
  });

  it("is refused with what to write where the authority is not known, or another's", async () => {
    expect(await lookRefused(secure(""))).toMatch(/^STORE_DENIED: .*cannot be verified.*\?ca=FILE/);
    expect(await lookRefused(secure(`&ca=${files.otherCa}`))).toMatch(/^STORE_DENIED: .*cannot be verified/);
  });

  it("that one side does not speak is said", async () => {
    expect(await lookRefused(secure("").replace("zookeepers://", "zookeeper://"))).toMatch(
      /^STORE_UNREACHABLE retryable/,
    );
    expect(await lookRefused(`zookeepers://${await plain()}?tickMs=500`)).toMatch(/^STORE_(?:DENIED|UNREACHABLE)/);
  });
});

// With TLS 1.2 a server refuses a certificate before the handshake is over, with TLS 1.3 after it.
describe.each([
  ["TLSv1.2", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"],
  ["TLSv1.3", "TLS_AES_128_GCM_SHA256"],
])("a server that asks for a client certificate, with %s", (protocol, cipher) => {
  const config = { "ssl.protocol": protocol, "ssl.enabledProtocols": protocol, "ssl.ciphersuites": cipher };
  const strict = useServers(server, { tls: { store, trust: files.ca, clientAuth: true }, config });
  const at = (settings = ""): string => `${strict().urls[0] ?? ""}&ca=${files.ca}${settings}`;

  it("accepts one that its authority has signed", async () => {
    const store = zookeeper(at(`&cert=${files.clientCert}&key=${files.clientKey}`));
    await using candidate = createCandidate({ store, ttlMs: 4000 });
    expect((await candidate.election("strict").campaign()).isHeld()).toBe(true);
  });

  it("refuses who shows none, and the message names both settings", async () => {
    expect(await lookRefused(at())).toMatch(/^STORE_DENIED: .*\?cert=FILE&key=FILE/);
    expect(await refusalOf(at())).toMatch(/^STORE_DENIED: .*\?cert=FILE&key=FILE/);
  });

  it("refuses one of another authority, and the message says where to look", async () => {
    const other = at(`&cert=${files.otherCa}&key=${path.join(own.folder, "other.key")}`);
    expect(await lookRefused(other)).toMatch(/^STORE_DENIED: .*does not accept the client certificate.*trust store/);
  });
});

describe("users", () => {
  it("keep their nodes to themselves, and another is told which rights to give", async () => {
    const at = (user: string): Promise<string> => plain().then((host) => `zookeeper://${user}${host}/mine?tickMs=500`);
    await using candidate = createCandidate({ store: zookeeper(await at("anna:geheim@")), ttlMs: 4000 });
    expect((await candidate.election("x").campaign()).isHeld()).toBe(true);
    for (const other of ["", "anna:falsch@", "bert:geheim@"])
      expect(await refusalOf(await at(other))).toMatch(
        /^STORE_DENIED: .*setAcl -R \/mine auth:USER:cdrwa.*A wrong password shows as a missing right/,
      );
    expect(await refusalOf(await at(""))).toMatch(/The store has no user: write user and password into the URL/);
    expect(await refusalOf(await at("bert:geheim@"))).not.toMatch(/has no user|bert/);
  });

  it("are served where an owner has done what the message says, and the owner keeps its rights", async () => {
    const owner = await connected(createClient(await plain()));
    const all = (id: Id): ACL[] => [new ACL(Permission.ALL, id)];
    owner.addAuthInfo("digest", Buffer.from("owner:geheim"));
    await answered((call) =>
      owner.create("/owned", Buffer.alloc(0), all(new Id("auth", "")), CreateMode.PERSISTENT, call),
    );
    const at = `zookeeper://bert:geheim@${await plain()}/owned?tickMs=500`;
    expect(await refusalOf(at)).toMatch(/setAcl -R \/owned auth:USER:cdrwa/);
    owner.addAuthInfo("digest", Buffer.from("bert:geheim"));
    await answered((call) => owner.setACL("/owned", all(new Id("auth", "bert")), call));
    const rights = await answered<ACL[]>((call) => owner.getACL("/owned", call));
    expect(rights.map(({ id }) => id.id.split(":")[0])).toEqual(["owner", "bert"]);
    owner.close();
    await using candidate = createCandidate({ store: zookeeper(at), ttlMs: 4000 });
    expect((await candidate.election("x").campaign()).isHeld()).toBe(true);
  });

  it("without a chroot are not told to change the rights of /", async () => {
    const owner = createCandidate({
      store: zookeeper(`zookeeper://anna:geheim@${await plain()}?tickMs=500`),
      ttlMs: 4000,
    });
    await owner.withLock("top", async () => {});
    await owner.close();
    const told = await refusalOf(`zookeeper://bert:geheim@${await plain()}?tickMs=500`, "top");
    expect(told).toMatch(/setAcl -R NODE auth:USER:cdrwa/);
    expect(told).not.toMatch(/setAcl -R \/ /);
  });
});

describe("a server that allows one connection from an address", () => {
  const narrow = useServers(server, { config: { maxClientCnxns: "1" } });

  it("is named with the setting that says so", async () => {
    await using candidate = createCandidate({ store: zookeeper(narrow().urls[0] ?? ""), ttlMs: 4000 });
    expect((await candidate.election("x").campaign()).isHeld()).toBe(true);
    expect(await lookRefused(narrow().urls[0] ?? "")).toMatch(/^STORE_UNREACHABLE retryable: .*maxClientCnxns/);
  });
});

describe("a server that serves only those who have logged in", () => {
  const config = { "enforce.auth.enabled": "true", "enforce.auth.schemes": "digest" };
  const guarded = useServers(server, { config });
  const at = (user: string): string => (guarded().urls[0] ?? "").replace("//", `//${user}`);

  it("serves a user, and tells others what is missing", async () => {
    await using candidate = createCandidate({ store: zookeeper(at("anna:geheim@")), ttlMs: 4000 });
    expect((await candidate.election("x").campaign()).isHeld()).toBe(true);
    expect(await refusalOf(at(""))).toMatch(/^STORE_DENIED: .*have logged in.*user and password into the URL/);
  });
});

describe("the tick", () => {
  const metAt = async (url: string, ttlMs: number): Promise<unknown> => {
    const opened = zookeeper(url);
    const spec = { nonce: `tick-${ttlMs}`, candidate: "c", ttlMs };
    const kept = await opened.keep(spec, [], { signal: AbortSignal.timeout(5000), sentAtMs: 0 });
    await opened.close();
    return kept.kind === "kept" ? kept.met : kept;
  };

  it("is the one that the server tells, whatever was given", async () => {
    for (const query of ["", "?tickMs=1000", "?tickMs=500"])
      expect(await metAt(`zookeeper://${await plain()}${query}`, 8000)).toMatchObject({
        proofWithinMs: 250,
        proofApartMs: 500,
      });
  });

  it("makes too short a ttl refused, with the shortest one", async () => {
    expect(await metAt(`zookeeper://${await plain()}?tickMs=100`, 1500)).toMatchObject({
      code: "STORE_UNSUPPORTED",
      message: expect.stringMatching(
        /tickTime is 500 ms.*the 1500 ms that it has granted.*ttlMs to 2000.*\?tickMs=500/,
      ),
    });
  });
});

describe("a value that is longer than ZooKeeper takes", () => {
  const TOO_LONG = "x".repeat(1_100_000);
  const call = () => ({ signal: AbortSignal.timeout(5000), sentAtMs: performance.now() });

  it.each(["line", "race"] as const)(
    "is refused in a %s; nothing was written, and the session goes on",
    async (shape) => {
      const opened = zookeeper(`zookeeper://${await plain()}?tickMs=500`, { shape });
      const name = `long-${shape}`;
      const kept = await opened.keep({ nonce: name, candidate: "c", ttlMs: 8000 }, [], call());
      if (kept.kind !== "kept") throw new Error(kept.kind);
      const [session, over] = [kept.session, VACANT];
      const [long] = await opened.claim([{ session, name, bid: asBid("long"), over, value: TOO_LONG }], call());
      expect(long).toMatchObject({ kind: "refused", retryable: false, message: expect.stringMatching(TOLD) });
      expect(await opened.look([{ name }], call())).toMatchObject({ kind: "seen", seats: [{ state: "vacant" }] });
      expect(await opened.keep(session, [], call())).toMatchObject({
        kind: "kept",
        road: kept.road,
        lost: [],
        strays: [],
      });
      const [short] = await opened.claim([{ session, name, bid: asBid("short"), over, value: "x" }], call());
      expect(short).toMatchObject({ kind: "granted" });
      await opened.release({ session, holds: [], endSession: true }, call());
      await opened.close();
    },
  );
  const TOLD = /a request of \d+ bytes, and ZooKeeper takes 1000000 at most.*Nothing was written/;
});

it("a server that is not there is tried again, and named", async () => {
  expect(await lookRefused("zookeeper://127.0.0.1:1")).toMatch(
    /^STORE_UNREACHABLE retryable: .*127\.0\.0\.1:1 cannot be reached \(ECONNREFUSED\): nothing listens there/,
  );
});
