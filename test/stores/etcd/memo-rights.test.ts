// A user of etcd that has the right on its elections and none on memos: the memo is refused with what to grant, and the campaign never is.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { beforeAll, expect, it } from "vitest";
import { createCandidate, isConclaveError } from "conclave";
import { etcd } from "conclave/stores/etcd";
import * as etcdServer from "../../../scripts/servers/etcd.mjs";
import { useServers } from "../../support/servers.ts";
import { urlOf } from "./etcd.ts";

const servers = useServers(etcdServer, { auth: false });
const url = (): string => urlOf(servers()).replace("etcd://", "etcd://app:geheim@");

async function etcdctl(...args: readonly string[]): Promise<string> {
  const env = { ...process.env, ETCDCTL_API: "3", ETCDCTL_USER: undefined };
  return (await promisify(execFile)("etcdctl", [`--endpoints=${servers().urls[0]}`, ...args], { env })).stdout;
}

const asRoot = (...args: readonly string[]): Promise<string> => etcdctl("--user=root:geheim", ...args);

beforeAll(async () => {
  await etcdctl("user", "add", "root:geheim");
  await etcdctl("user", "grant-role", "root", "root");
  await etcdctl("user", "add", "app:geheim");
  await etcdctl("role", "add", "elections");
  for (const name of ["a b", "half", "unread"])
    await etcdctl("role", "grant-permission", "elections", "readwrite", "--prefix=true", `${name}/`);
  await etcdctl("user", "grant-role", "app", "elections");
  await etcdctl("auth", "enable");
});

/** What a memo is told that is refused. */
async function refusalOf(memo: Promise<unknown>): Promise<string> {
  const error: unknown = await memo.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!isConclaveError(error)) throw new Error("it was not refused", { cause: error });
  expect(error.code).toBe("STORE_DENIED");
  expect(error.message).not.toContain("geheim");
  return error.message;
}

it("refuses the memo and never the campaign, and what the message says to grant is enough and no more than needed", async () => {
  await using candidate = createCandidate({ store: etcd(url()), ttlMs: 5000 });
  const election = candidate.election("a b");
  const term = await election.campaign();
  const message = await refusalOf(term.memo("k", "v"));
  expect(await refusalOf(election.memo("k"))).toBe(message);
  await term.renew();
  expect(term.isHeld()).toBe(true);
  const commands = [
    ...message.matchAll(/etcdctl (role grant-permission) ROLE (readwrite)(?: (--prefix=true))? '([^']+)'/g),
  ];
  expect(commands.map(([, , , prefix, key]) => [prefix, key])).toEqual([
    ["--prefix=true", ".conclave/memo/a%20b/"],
    [undefined, ".conclave/memo-keys/a%20b"],
  ]);
  for (const [, , right = "", prefix, key = ""] of commands)
    await asRoot("role", "grant-permission", "elections", right, ...(prefix === undefined ? [] : [prefix]), key);
  await term.memo("k", "v");
  await term.memo("k", "w");
  expect(await election.memo("k")).toMatchObject({ value: "w", n: 2, token: term.token });
  await term.resign();
  const next = await election.campaign();
  expect(next.isHeld()).toBe(true);
  await next.resign();
});

it("writes nothing where the right on the number of keys is missing, and says so", async () => {
  await asRoot("role", "grant-permission", "elections", "readwrite", "--prefix=true", ".conclave/memo/half/");
  await using candidate = createCandidate({ store: etcd(url()), ttlMs: 5000 });
  const election = candidate.election("half");
  const term = await election.campaign();
  expect(await refusalOf(term.memo("k", "v"))).toContain("readwrite '.conclave/memo-keys/half'");
  expect(await election.memo("k")).toBeUndefined();
  await term.renew();
  expect(term.isHeld()).toBe(true);
  await term.resign();
});

it("tells an onlooker that follows a memo it may not read", async () => {
  await using candidate = createCandidate({ store: etcd(url()), ttlMs: 5000 });
  const follow = async (): Promise<void> => {
    for await (const _ of candidate.election("unread").observeMemo("k")) return;
  };
  expect(await refusalOf(follow())).toContain("--prefix=true '.conclave/memo/unread/'");
});
