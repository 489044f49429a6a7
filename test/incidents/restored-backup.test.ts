// From the review of the design: a store was restored from a backup and counted again from an older value. Two terms carried one number, and the resource
// took the second for the first.
// Here: values that fell are refused, and so is an equal value of another bid, until the counter has passed what the resource has seen. A restored store
// that is given a new domain is refused with its own code until adopted, and its old domain after that.
// Taken out: test/defences/restored-backup.patch
import { copyFileSync, existsSync, rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Fenced, parseToken } from "conclave";
import { etcd } from "conclave/stores/etcd";
import { postgres } from "conclave/stores/postgres";
import * as etcdServer from "../../scripts/servers/etcd.mjs";
import * as postgresServer from "../../scripts/servers/postgres.mjs";
import { urlOf } from "../stores/etcd/etcd.ts";
import { everyFence } from "../fencing/every-fence.ts";
import { byHand, newDatabase } from "../stores/postgres/stage.ts";
import { type Servers, useServers } from "../support/servers.ts";
import { Stage } from "../support/processes.ts";
import { inFolder, type Restorable, restoredBackup } from "../support/restored-backup.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "conclave-restored-"));
});
const stage = new Stage();
const databases = useServers(postgresServer);
let cluster: Servers;
afterAll(async () => {
  await cluster?.stop();
  await stage.end();
  await rm(folder, { recursive: true, force: true });
});

const by = (text: string): Fenced => ({ token: parseToken(text) });

it.each(everyFence)(
  "restored-backup: a number that was used before is refused, also when another carries it now (%s)",
  async (_, make) => {
    const fence = make(folder);
    await fence.raise(by("etcd-1:41:before"));
    await expect(fence.raise(by("etcd-1:40:after-restore-1"))).rejects.toMatchObject({ code: "TOKEN_STALE" });
    await expect(fence.raise(by("etcd-1:41:after-restore-2"))).rejects.toMatchObject({ code: "TOKEN_STALE" });
    await fence.raise(by("etcd-1:42:after-restore-3"));

    await expect(fence.raise(by("etcd-1-restored:7:c"))).rejects.toMatchObject({ code: "TOKEN_FOREIGN" });
    await fence.adopt({ from: "etcd-1", to: "etcd-1-restored" });
    await fence.raise(by("etcd-1-restored:7:c"));
    await expect(fence.raise(by("etcd-1:43:late"))).rejects.toMatchObject({ code: "TOKEN_FOREIGN" });
  },
);

/** Nobody has it open. What SQLite has not moved into the main file yet is in -wal. */
function copy(from: string, to: string): void {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(to + suffix, { force: true });
  for (const suffix of ["", "-wal"]) if (existsSync(from + suffix)) copyFileSync(from + suffix, to + suffix);
}

it(
  "restored-backup: a real file that is put back grants a number again, and the ledger refuses it",
  { timeout: 30_000 },
  async () => {
    const shared = { path: stage.file("x.db"), ledger: stage.file("ledger.db"), ttlMs: 1000 };
    const leadOnce = async (
      id: string,
    ): Promise<{ event: string; token: string | undefined; code: string | undefined }> => {
      const player = await stage.start({ ...shared, id });
      const { token } = await player.hears("elected");
      const { event, code } = await Promise.any(["wrote", "refused"].map((word) => player.hears(word)));
      player.tell("close");
      await player.exited();
      return { event, token, code };
    };
    expect(await leadOnce("first")).toMatchObject({ event: "wrote", token: "1" });
    copy(shared.path, stage.file("backup"));
    expect(await leadOnce("second")).toMatchObject({ event: "wrote", token: "2" });
    copy(stage.file("backup"), shared.path);
    expect(await leadOnce("after-restore")).toEqual({ event: "refused", token: "2", code: "TOKEN_STALE" });
    expect(await leadOnce("later")).toMatchObject({ event: "wrote", token: "3" });
  },
);

async function inPostgres(): Promise<Restorable> {
  const [server = ""] = databases().urls;
  const url = await newDatabase(server);
  const name = new URL(url).pathname.slice(1);
  return {
    open: () => postgres(url),
    backUp: async () => void (await byHand(server, `CREATE DATABASE backup TEMPLATE ${name}`)),
    restore: async () => {
      await byHand(server, `DROP DATABASE ${name} WITH (FORCE)`);
      await byHand(server, `CREATE DATABASE ${name} TEMPLATE backup`);
    },
  };
}

async function inEtcd(): Promise<Restorable> {
  const base = path.join(folder, "etcd");
  cluster = await etcdServer.start({ folder: base });
  const [node] = cluster.nodes;
  if (node === undefined) throw new Error("no server");
  return inFolder(
    () => node,
    path.join(base, "n0/data"),
    () => etcd(urlOf(cluster)),
  );
}

it.each([
  ["etcd", inEtcd],
  ["postgres", inPostgres],
])(
  "restored-backup: a real %s that is put back grants a number again, and the ledger refuses it until the counter has passed",
  { timeout: 60_000 },
  async (_, begin) => restoredBackup(await begin(), expect),
);
