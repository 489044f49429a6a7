// What JavaScript users pass by mistake to what the package exports: nothing, null, numbers, texts, half a list. Each call either takes it, or says in words of ours what is wrong. An error of
// the language itself ("Cannot read properties of undefined") would tell of our inside instead.
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import * as conclave from "conclave";
import { Guard, Monitor } from "conclave/failover";
import * as fencing from "conclave/fencing";
import { etcdFence } from "conclave/fencing/etcd";
import { postgresFence } from "conclave/fencing/postgres";
import { redisFence } from "conclave/fencing/redis";
import { healthHandler, watchHealth } from "conclave/health";
import { joinPartitions, rendezvousPartitions } from "conclave/partitions";
import { schedule } from "conclave/schedule";
import { guardedElection } from "conclave/stonith";
import { dynamodb, dynamodbSchema, lockClient } from "conclave/stores/dynamodb";
import { etcd } from "conclave/stores/etcd";
import { kubernetes, kubernetesManifest } from "conclave/stores/kubernetes";
import { memory } from "conclave/stores/memory";
import { postgres, postgresSchema } from "conclave/stores/postgres";
import { redis } from "conclave/stores/redis";
import { sqlite } from "conclave/stores/sqlite";
import { zookeeper } from "conclave/stores/zookeeper";
import { Supervisor } from "conclave/supervisor";
import { createMetrics } from "conclave/telemetry";
import { fakeTerm, fakeToken, faulty, judgeLog, storeConformance } from "conclave/testing";

const WRONG: readonly unknown[] = [
  undefined,
  null,
  0,
  -1,
  Number.NaN,
  Infinity,
  "",
  "x",
  "y".repeat(100_000),
  "a\0b",
  "\uD800",
  5n,
  true,
  Symbol("s"),
  {},
  [],
  [null],
  () => 1,
  new Date(Number.NaN),
  Object.create(null),
  Buffer.from("x"),
];

const folder = mkdtempSync(path.join(tmpdir(), "conclave-wrong-"));
const closing: (() => unknown)[] = [];
afterAll(async () => {
  await Promise.all(closing.map((close) => close()));
  rmSync(folder, { recursive: true, force: true });
});

type Args = readonly unknown[];
type AnyCall = (...args: never[]) => unknown;

const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const term = fakeTerm({ election: "e" });
const by = { token: fakeToken(5n) };
const signed = fencing.signToken(term, privateKey, { audience: "r", ttlMs: 1000 });
const work = (): Promise<void> => Promise.resolve();
const soon = (): AbortSignal => AbortSignal.timeout(1);
const settings = { store: memory(), ttlMs: 2000 };
const candidate = conclave.createCandidate(settings);
const election = candidate.election("x");
const nowhere = "redis://127.0.0.1:1";
const move = { from: "a", to: "b" };
const memoryGuard = fencing.memoryFence();
const signedGuard = fencing.memoryFence({ verify: publicKey });
const fileGuard = fencing.fileFence(folder, "n");
const rows = { query: () => Promise.resolve({ rows: [] }) };
const connection = Object.assign(Object.create({}) as object, {
  inTransaction: true,
  exec: () => {},
  prepare: () => ({ all: () => [], run: () => {} }),
});
closing.push(() => candidate.close());

/** A call, with arguments that it takes. Each of them, and each field of those that are objects, is replaced by what is wrong. */
const CALLS: Readonly<Record<string, readonly [call: unknown, ...args: Args[]]>> = {
  createCandidate: [conclave.createCandidate, [settings]],
  elect: [conclave.elect, ["n", settings]],
  semaphore: [conclave.semaphore, ["n", { ...settings, permits: 2, unfenced: true }]],
  openStore: [conclave.openStore, [nowhere]],
  formatToken: [conclave.formatToken, [by.token]],
  parseToken: [conclave.parseToken, ["x"]],
  isFenced: [conclave.isFenced, [settings.store]],
  requireFenced: [conclave.requireFenced, [settings.store]],
  "candidate.election": [candidate.election.bind(candidate), ["n"]],
  "candidate.withLock": [candidate.withLock.bind(candidate), ["n", work, { signal: soon(), waitMs: 1 }]],
  "candidate.subscribe": [candidate.subscribe.bind(candidate), [() => {}]],
  "election.lead": [election.lead.bind(election), [work, { signal: soon() }]],
  "election.campaign": [
    election.campaign.bind(election),
    [{ signal: AbortSignal.abort(new conclave.ConclaveError("CLOSED", "x")) }],
  ],
  "election.ifLeading": [election.ifLeading.bind(election), [work]],
  memoryFence: [fencing.memoryFence, [{ verify: publicKey }]],
  durableFence: [fencing.durableFence, [folder, { verify: publicKey }]],
  fileFence: [fencing.fileFence, [folder, "n", { verify: publicKey }]],
  sqliteFence: [fencing.sqliteFence, [{ table: "x" }]],
  etcdFence: [etcdFence, ["etcd://127.0.0.1:1", { prefix: "p" }]],
  postgresFence: [postgresFence, [{ table: "x" }]],
  redisFence: [redisFence, [nowhere, { prefix: "p" }]],
  fencedHandler: [fencing.fencedHandler, [memoryGuard, "r", () => new Response("x"), { waitMs: 1 }]],
  fencedListener: [fencing.fencedListener, [memoryGuard, "r", work, { waitMs: 1 }]],
  fencingHeaders: [fencing.fencingHeaders, [term]],
  keyId: [fencing.keyId, [publicKey]],
  signToken: [fencing.signToken, [term, privateKey, { audience: "r", ttlMs: 1000 }]],
  verifyToken: [fencing.verifyToken, ["r", signed, publicKey]],
  "memoryFence.run": [memoryGuard.run.bind(memoryGuard), ["r", by, work, { waitMs: 1 }]],
  "memoryFence.raise": [memoryGuard.raise.bind(memoryGuard), ["r", by, { waitMs: 1 }]],
  "memoryFence.adopt": [memoryGuard.adopt.bind(memoryGuard), ["r", move]],
  "signed.run": [signedGuard.run.bind(signedGuard), ["r", signed, work]],
  "fileFence.write": [fileGuard.write.bind(fileGuard), ["x", by]],
  "fileFence.adopt": [fileGuard.adopt.bind(fileGuard), [move]],
  "redisFence.write": [
    (...args: [string, typeof by, never]) => redisFence(nowhere).write(...args),
    ["r", by, [{ command: "SET", key: "k", args: ["x"] }]],
  ],
  "etcdFence.write": [
    (...args: [string, typeof by, never]) => etcdFence("etcd://127.0.0.1:1").write(...args),
    ["r", by, [{ put: "k", value: "v" }]],
  ],
  "etcdFence.read": [(key: string) => etcdFence("etcd://127.0.0.1:1").read(key), ["k"]],
  "postgresFence.admit": [
    (...args: [typeof rows, string, typeof by]) => postgresFence().admit(...args),
    [rows, "r", by],
  ],
  "sqliteFence.admit": [
    (...args: [typeof connection, string, typeof by]) => fencing.sqliteFence().admit(...args),
    [connection, "r", by],
  ],
  dynamodb: [dynamodb, ["dynamodb://t?region=eu-west-1"], [{ send: () => {} }, { table: "t", lookMs: 500 }]],
  dynamodbSchema: [dynamodbSchema, [{ table: "t" }]],
  lockClient: [lockClient, [{ send: () => {} }, { table: "t", lookMs: 500 }]],
  etcd: [etcd, ["etcd://127.0.0.1:1"]],
  kubernetes: [kubernetes, ["kubernetes://ns", { kubeconfig: "/nowhere", context: "x" }]],
  kubernetesManifest: [kubernetesManifest, [{ namespace: "n", serviceAccount: "a" }]],
  memory: [memory, [{}]],
  postgres: [postgres, ["postgres://127.0.0.1:1/x", {}]],
  postgresSchema: [postgresSchema, [{ schema: "x" }]],
  redis: [redis, [nowhere, { prefix: "p", maxTtlMs: 5000, layout: "redlock", client: "redis" }]],
  sqlite: [sqlite, [path.join(folder, "s.db"), {}]],
  zookeeper: [zookeeper, ["zookeeper://127.0.0.1:1", {}]],
  joinPartitions: [joinPartitions, ["g", { ...settings, partitions: 4, onAssigned: work, gatherMs: 1 }]],
  rendezvousPartitions: [rendezvousPartitions, ["g", { ...settings, partitions: 4, onAssigned: work }]],
  schedule: [schedule, [election, { everyMs: 1000 }, work, { missed: "all", missedMax: 3 }]],
  healthHandler: [healthHandler, [{ report: () => ({}), stop: () => {} }]],
  watchHealth: [watchHealth, [candidate]],
  createMetrics: [createMetrics, [{ nowMs: Date.now }]],
  Guard: [(options: never) => new Guard(options), [{}]],
  Monitor: [(options: never) => new Monitor(options), [{}]],
  guardedElection: [guardedElection, [{ store: settings.store }]],
  Supervisor: [
    (options: never) => new Supervisor(options),
    [{ election: "n", store: settings.store, command: ["true"], ttlMs: 2000, tell: () => {} }],
  ],
  fakeTerm: [fakeTerm, [{ token: 1n, election: "n" }]],
  fakeToken: [fakeToken, [1n]],
  faulty: [faulty, [settings.store, { next: [] }]],
  judgeLog: [judgeLog, ["x"]],
  storeConformance: [storeConformance, [() => Promise.resolve(memory()), { skip: [] }]],
};

function* wrongOnes(args: Args): Generator<Args> {
  for (const [place, arg] of args.entries()) {
    for (const wrong of WRONG) yield args.with(place, wrong);
    if (Object.getPrototypeOf(arg ?? 0) !== Object.prototype) continue;
    for (const key of [...Object.keys(arg as object), "zzz"])
      for (const wrong of WRONG) yield args.with(place, { ...(arg as object), [key]: wrong });
  }
}

/** What V8 and Node say of a value that they cannot use. */
const OF_THE_INSIDE =
  /Cannot (?:read|destructure|convert|mix|use)|is not (?:a function|iterable|defined|an object)|must be (?:of type|one of)|Received|out of range/;

async function complaintOf(call: AnyCall, args: Args): Promise<string | undefined> {
  try {
    const made: unknown = call(...(args as never[]));
    // What waits for a store or a rival is no subject here.
    const answer: unknown = await Promise.race([made, new Promise((resolve) => setImmediate(resolve))]);
    Promise.resolve(made).catch(() => {});
    for (const each of [made, answer]) {
      const { close } = Object(each) as { readonly close?: () => unknown };
      if (typeof close === "function") closing.push(() => close.call(each));
    }
    return undefined;
  } catch (error) {
    if (conclave.isConclaveError(error) || (error instanceof Error && !OF_THE_INSIDE.test(error.message)))
      return undefined;
    return String(error);
  }
}

describe("wrong arguments", () => {
  it.each(Object.entries(CALLS))("%s takes them, or says what is wrong", async (_, [call, ...lists]) => {
    const complaints: string[] = [];
    for (const list of lists)
      for (const args of wrongOnes(list)) {
        const complaint = await complaintOf(call as AnyCall, args);
        if (complaint !== undefined) complaints.push(complaint);
      }
    expect([...new Set(complaints)]).toEqual([]);
  });
});
