// The guards that a command can reach, by where they are: a SQLite file, a folder, etcd, PostgreSQL. Those in memory, and durableFence, belong to a process.
import { existsSync } from "node:fs";
import path from "node:path";
import { etcdFence } from "../fencing/etcd.ts";
import { type Adopted, fileFence, type Move, sqliteFence } from "../fencing/index.ts";
import { postgresFence } from "../fencing/postgres.ts";
import { problemOfUrl } from "../stores/postgres/url.ts";
import { transact } from "../stores/postgres/transact.ts";
import { UsageError } from "./command.ts";
import { openDatabaseAt } from "./database.ts";
import { redact } from "./store.ts";

export interface Guard {
  /** Shown to the user. */
  readonly place: string;
  /** Of a server nobody knows before it is asked. */
  readonly isMissing: boolean;
  adopt(resource: string, move: Move): Promise<Adopted>;
}

/** What names a guard, as flags. */
export interface GuardFlags {
  readonly sqlite?: string | undefined;
  readonly folder?: string | undefined;
  readonly etcd?: string | undefined;
  readonly postgres?: string | undefined;
  readonly table?: string | undefined;
  readonly prefix?: string | undefined;
}

export function guardAt({ sqlite, folder, etcd, postgres, table, prefix }: GuardFlags): Guard {
  if ([sqlite, folder, etcd, postgres].filter((place) => place !== undefined).length !== 1)
    throw new UsageError(
      "say where the guard is, by one of --sqlite FILE, --folder FOLDER, --etcd URL and --postgres URL",
    );
  if (table !== undefined && sqlite === undefined && postgres === undefined)
    throw new UsageError("--table goes with --sqlite and --postgres");
  if (prefix !== undefined && etcd === undefined) throw new UsageError("--prefix goes with --etcd");
  if (sqlite !== undefined) return inFile(sqlite, table);
  if (etcd !== undefined) return inEtcd(etcd, prefix);
  if (postgres !== undefined) return inPostgres(postgres, table);
  return inFolder(folder ?? "");
}

function inFile(file: string, table: string | undefined): Guard {
  const place = path.resolve(file);
  const fence = sqliteFence({ table });
  return {
    place,
    isMissing: !existsSync(place),
    adopt: async (resource, move) => {
      const database = openDatabaseAt(place);
      try {
        return fence.adopt(database, resource, move);
      } finally {
        database.close();
      }
    },
  };
}

function inFolder(folder: string): Guard {
  const place = path.resolve(folder);
  return { place, isMissing: !existsSync(place), adopt: (name, move) => fileFence(place, name).adopt(move) };
}

function inEtcd(url: string, prefix: string | undefined): Guard {
  const fence = etcdFence(url, { prefix });
  return {
    place: redact(url),
    isMissing: false,
    adopt: async (resource, move) => {
      try {
        return await fence.adopt(resource, move);
      } finally {
        await fence.close();
      }
    },
  };
}

function inPostgres(url: string, table: string | undefined): Guard {
  const fence = postgresFence({ table });
  const problem = problemOfUrl(url);
  if (problem !== undefined) throw new UsageError(`--postgres: ${problem}`);
  return {
    place: redact(url),
    isMissing: false,
    adopt: (resource, move) => transact(url, (transaction) => fence.adopt(transaction, resource, move)),
  };
}
