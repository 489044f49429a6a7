// The end of a node's sessions on a real etcd, beside the suite: a lease is revoked in a request of its own, which may have failed.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it, vi } from "vitest";
import { createCandidate } from "conclave";
import { keepsBans, type MemoWrite } from "conclave/stores/contract";
import { etcd } from "conclave/stores/etcd";
import { EtcdError } from "../../../src/clients/etcd/errors.ts";
import { EtcdLink } from "../../../src/clients/etcd/link.ts";
import * as etcdServer from "../../../scripts/servers/etcd.mjs";
import { useServers } from "../../support/servers.ts";
import { call, hold, open } from "../moves.ts";
import { urlOf } from "./etcd.ts";

const servers = useServers(etcdServer);

async function etcdctl(...args: readonly string[]): Promise<string> {
  const env = { ...process.env, ETCDCTL_API: "3" };
  return (await promisify(execFile)("etcdctl", [`--endpoints=${servers().urls[0]}`, ...args], { env })).stdout;
}

it("a waiter gets the seat of a node that is off, long before its ttl", async () => {
  const store = etcd(urlOf(servers()));
  const dead = createCandidate({ store, node: { name: "db-1", machine: "m1" }, ttlMs: 60_000 });
  await using next = createCandidate({ store, node: { name: "db-3", machine: "m3" }, ttlMs: 5000 });
  await using shooter = createCandidate({ store, node: { name: "db-2", machine: "m2" }, ttlMs: 5000 });
  await dead.election("reports").campaign();
  const waits = next.election("reports").campaign();
  const term = await shooter.election("ledger").campaign();
  await term.ban("db-1", "silent");
  await term.endSessionsOf("db-1");
  const begins = Date.now();
  await waits;
  expect(Date.now() - begins).toBeLessThan(20_000);
  expect(term.isHeld()).toBe(true);
  await dead.close();
});

it("a request that is sent again ends the leases that the first try has left", async () => {
  const store = etcd(urlOf(servers()));
  if (!keepsBans(store)) throw new Error("it keeps bans");
  const session = await open(store);
  const held = await hold(store, session, "shooter");
  const ban = {
    session,
    hold: held,
    key: "b",
    value: "{}",
    n: 1,
    over: undefined,
    ban: { node: "db-9", stands: true },
  };
  const banned = await store.writeMemo(ban, call());
  if (banned.kind !== "written") throw new Error(banned.kind);
  const effect = { node: "db-9", stands: true, endsSessions: true } as const;
  const end: MemoWrite = { ...ban, n: 2, over: banned.version, ban: effect };
  const first = await store.writeMemo(end, call());
  expect(first.kind).toBe("written");
  // As if the revocation of this lease had not arrived.
  const lease = /lease (\w+) granted/u.exec(await etcdctl("lease", "grant", "600"))?.[1] ?? "";
  await etcdctl("put", `--lease=${lease}`, `.conclave/node/db-9/m1/${lease}`, "");
  expect(await etcdctl("lease", "list")).toContain(lease);
  expect(await store.writeMemo(end, call())).toEqual(first);
  expect(await etcdctl("lease", "list")).not.toContain(lease);
  await store.close();
});

it("a revocation that is refused after the memo was written leaves the outcome unknown", async () => {
  const store = etcd(urlOf(servers()));
  if (!keepsBans(store)) throw new Error("it keeps bans");
  const node = { name: "db-10", machine: "m1" };
  await store.keep({ nonce: "unrevoked", candidate: "x", ttlMs: 60_000, node }, [], call());
  const session = await open(store);
  const held = await hold(store, session, "unlucky");
  const ban = { node: node.name, stands: true } as const;
  const write: MemoWrite = { session, hold: held, key: "b", value: "{}", n: 1, over: undefined, ban };
  const banned = await store.writeMemo(write, call());
  if (banned.kind !== "written") throw new Error(banned.kind);
  const end: MemoWrite = { ...write, n: 2, over: banned.version, ban: { ...ban, endsSessions: true } };
  const revoke = vi
    .spyOn(EtcdLink.prototype, "revokeLease")
    .mockRejectedValue(new EtcdError("unreachable", "not-applied", "given up before it was sent"));
  expect((await store.writeMemo(end, call())).kind).toBe("unknown");
  expect(revoke).toHaveBeenCalled();
  revoke.mockRestore();
  expect((await store.writeMemo(end, call())).kind).toBe("written");
  await store.close();
});
