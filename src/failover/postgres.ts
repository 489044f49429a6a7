// PostgreSQL 13 and newer: primary and standbys by streaming replication. A history is the cluster's identifier and the timeline, a position the place in the log (postgres-view.ts).
//
//   start      The guard starts `postgres` itself, always with standby.signal. No server starts as a primary, whatever its folder says
//   promote    The guard calls pg_promote and then asks the server: it must not be in recovery, and its timeline must be the one that the record gave this promotion (postgres-home.ts)
//   follow     A server starts as a standby of nobody. It is compared with its primary, and only then primary_conninfo is written to postgresql.auto.conf, and the server reloads it
//   hand over  The server is stopped cleanly: PostgreSQL sends everything before it ends, and the last record is the checkpoint of the stop. The hand-over is done when the target has replayed that checkpoint
//   seek       A server that was taken back, or copied, and needs the rest of the log before it answers is connected to its primary by its files, under a name that confirms nothing
//   mend       A server that has data which its primary does not have is stopped cleanly, and pg_rewind takes it back to the place where the two parted. A server that already knows the timeline of its primary may not
//              even start: it is judged by its control file, and first replays its log alone. Where pg_rewind cannot take the server back, a human is told to rebuild it
//
// Why no acknowledged commit is lost where commits wait for k standbys: before a server becomes writable, the record says which standbys may confirm its commits (machine.ts). `synchronous_standby_names` is made of that set
// in the record, not of the file on this host. Until then it names a standby that does not exist, so a setting that arrives late makes commits wait and lets none pass.
// A standby has the name that commits wait for only after it was compared with the primary that waits (postgres-view.ts, `standbyName`).
//
// This service is dead when its postmaster and all backends are gone. A backend leaves the session of the postmaster and writes its title over its environment, and one backend was seen to commit two seconds after the
// postmaster was killed. So only a cgroup finds all of them.
import { spawn } from "node:child_process";
import { ConclaveError } from "../base/errors.ts";
import { problemOfUrl } from "../clients/postgres/url.ts";
import { canBeRewound, lastTimeline, readControl } from "./postgres-control.ts";
import { homeOf, type PostgresHome } from "./postgres-home.ts";
import { PostgresServerLink, type PostgresPlace } from "./postgres-link.ts";
import { conninfoTo, standbyNames } from "./postgres-view.ts";
import type { Beginning, Prepared, Replication, ServerLink, ServerSpec } from "./replication.ts";

/** Options of `postgresReplication`. */
export interface PostgresReplicationOptions {
  /** The timeout of one command. */
  readonly timeoutMs: number;
  readonly promoteWithinMs: number;
  /** How many standbys a commit waits for. With 0, `synchronous_standby_names` is left to the user. */
  readonly confirmations: number;
}

/**
 * Settings that the guard gives the server at every start, whatever the configuration says. A standby whose primary has died tries again only after `wal_retrieve_retry_interval`. During that pause PostgreSQL 15 reacts
 * neither to a promotion nor to a new primary: with the default of 5 s a group was without a primary for 5 s longer.
 */
const OWN_SETTINGS = ["hot_standby=on", "wal_log_hints=on", "wal_retrieve_retry_interval=200ms"];

/** After a mending that failed, the next attempt waits for this long. */
const MEND_AGAIN_AFTER_MS = 30_000;

/** Says what is wrong with the URL of a server. */
export function problemOfPostgres(url: string): string | undefined {
  const problem = problemOfUrl(url);
  if (problem !== undefined) return problem;
  if (!URL.canParse(url)) return "the URL cannot be read";
  return new URL(url).hostname === "" ? "the host is missing: clients and standbys reach it by this URL" : undefined;
}

/** Primary and standbys of PostgreSQL. */
export function postgresReplication(
  servers: Readonly<Record<string, ServerSpec>>,
  options: PostgresReplicationOptions,
): Replication {
  return new PostgresReplication(servers, options);
}

class PostgresReplication implements Replication, PostgresPlace {
  readonly kind = "postgres";
  readonly needsCgroup = "a backend of PostgreSQL leaves the session of its server, and may commit after that is dead";
  readonly stopSignal = "SIGINT";
  readonly servers: Readonly<Record<string, ServerSpec>>;
  readonly options: PostgresReplicationOptions;
  /** The files of the server beside which this process is the guard. */
  home: PostgresHome | undefined;
  #mendedAtMs = -Infinity;
  /** The name of that server. */
  #name = "";
  /** What the server that was started last was told by its files. */
  #sought = "";

  constructor(servers: Readonly<Record<string, ServerSpec>>, options: PostgresReplicationOptions) {
    this.servers = servers;
    this.options = options;
  }

  connect(server: ServerSpec): Promise<ServerLink> {
    return PostgresServerLink.open(server, this);
  }

  get canMend(): boolean {
    return performance.now() - this.#mendedAtMs > MEND_AGAIN_AFTER_MS;
  }

  async prepare({ server, command, primary, mends, signal }: Beginning): Promise<Prepared> {
    const home = homeOf(command, process.env);
    this.home = home;
    this.#name = server.name;
    this.#sought = "";
    if (home.isMending) throw mustRebuild(home, "pg_rewind was begun on it and did not end", primary);
    const trouble =
      mends && primary !== undefined && this.canMend ? await this.#mend(home, primary, signal) : undefined;
    const control = await readControl(home);
    home.settleTimelines(control?.reached);
    home.becomeStandby(this.#settings());
    return { command: [...command, ...OWN_SETTINGS.flatMap((setting) => ["-c", setting])], trouble };
  }

  #settings(primaryConninfo = ""): Readonly<Record<string, string>> {
    const { confirmations } = this.options;
    const names = confirmations === 0 ? {} : { synchronous_standby_names: standbyNames(confirmations, []) };
    return { primary_conninfo: primaryConninfo, ...names };
  }

  /**
   * pg_rewind copies the log of a primary that goes on writing. Until the server has what was written meanwhile, it answers nobody, and only the primary can send that. So nobody could tell it to follow, and it would wait for
   * ever. SAFETY: it connects under its plain name, which confirms nothing (postgres-view.ts). When it answers, it is cut off and compared like any other.
   */
  async seek(primary: ServerSpec, isOurs: (pid: number) => boolean): Promise<void> {
    const { home } = this;
    const conninfo = conninfoTo(primary, { application_name: this.#name });
    if (home === undefined || conninfo === this.#sought || (await readControl(home))?.isCopy !== true) return;
    const postmaster = home.postmaster();
    if (postmaster === undefined || !isOurs(postmaster)) return;
    home.becomeStandby(this.#settings(conninfo));
    process.kill(postmaster, "SIGHUP");
    this.#sought = conninfo;
  }

  /** The primary writes a checkpoint first, because before that its control file names the timeline that it has left. Returns undefined if this server can follow now. */
  async #mend(home: PostgresHome, primary: ServerSpec, signal: AbortSignal): Promise<string | undefined> {
    const source = conninfoTo(primary, { dbname: "postgres" });
    const args = ["--target-pgdata", home.data, "--source-server", source];
    const control = await readControl(home);
    if (control !== undefined && !canBeRewound(control)) {
      // SAFETY: ending its recovery makes the server write to its log. A server that has not parted would part by that.
      if (!(await PostgresServerLink.hasParted(control.reached, primary, this))) return undefined;
      await this.#recover(home, signal);
    }
    this.#mendedAtMs = performance.now();
    await PostgresServerLink.checkpoint(primary, this);
    const tried = await runAs(home, "pg_rewind", [...args, "--dry-run"], signal);
    if (tried.code !== 0)
      return `this server has what ${primary.name} does not have, and pg_rewind cannot take it back (${tried.said}). ${rebuildWith(home, primary)}`;
    const restore = home.keepConfiguration();
    home.noteMending(true);
    const { code, said } = await runAs(home, "pg_rewind", args, signal);
    if (code !== 0) throw mustRebuild(home, `pg_rewind failed (${said})`, primary);
    restore();
    home.noteMending(false);
    // SAFETY: pg_rewind has said that nothing in this folder is beyond the past of the primary. A timeline that the data has not come to was begun by a promotion that was interrupted before it wrote anything.
    const after = await readControl(home);
    if (after !== undefined) home.forgetTimelinesAfter(lastTimeline(after));
    this.#mendedAtMs = -Infinity;
    return undefined;
  }

  /** A server that was killed replays its own log to the end, alone and without listening, because pg_rewind works only on a server that has ended cleanly. If the replay fails, pg_rewind says so. */
  async #recover(home: PostgresHome, signal: AbortSignal): Promise<void> {
    home.leaveStandby();
    await runAs(home, "postgres", ["--single", "-D", home.data, "-c", "wal_log_hints=on", "template1"], signal);
  }
}

function mustRebuild({ data }: PostgresHome, why: string, primary: ServerSpec | undefined): ConclaveError {
  return new ConclaveError("CONFIG_INVALID", `${data} cannot be used: ${why}. ${rebuildWith({ data }, primary)}`);
}

function rebuildWith({ data }: { readonly data: string }, primary: ServerSpec | undefined): string {
  const { host, port } = primary ?? { host: "PRIMARY", port: 5432 };
  return `rebuild it: stop the guard, move ${data} away, pg_basebackup -h ${host} -p ${port} -D ${data} -X stream -c fast, start the guard`;
}

/** Runs the program as the owner of the data, because neither pg_rewind nor postgres runs as root. The password is in the environment of the program, not among its arguments. */
function runAs(
  home: PostgresHome,
  program: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<{ readonly code: number; readonly said: string }> {
  const { uid, gid } = home.owner;
  const identity = process.getuid?.() === 0 ? { uid, gid } : {};
  const [secret, rest] = withoutPassword(args);
  return new Promise((resolve) => {
    let said = "";
    const child = spawn(home.program(program), rest, {
      stdio: ["ignore", "pipe", "pipe"],
      cwd: "/",
      signal,
      killSignal: "SIGTERM",
      env: { ...process.env, ...(secret === undefined ? {} : { PGPASSWORD: secret }), LC_ALL: "C" },
      ...identity,
    });
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (text: Buffer) => (said = `${said}${text.toString()}`.slice(-2000)));
    child.once("error", (error) => resolve({ code: 127, said: error.message }));
    child.once("close", (code) => resolve({ code: code ?? 1, said: said.trim().split("\n").slice(-2).join(" ") }));
  });
}

function withoutPassword(args: readonly string[]): readonly [string | undefined, readonly string[]] {
  const word = /(?:^|\s)password='((?:[^'\\]|\\.)*)'/;
  const secret = args.map((arg) => word.exec(arg)?.[1]).find((found) => found !== undefined);
  return [secret?.replaceAll(/\\(.)/g, "$1"), args.map((arg) => arg.replace(word, ""))];
}
