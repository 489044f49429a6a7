// The question that a PostgreSQL server is asked about itself, and how its answer becomes a view. Everything here is pure except the text of the question.
//
// A history is SYSTEM/TIMELINE: the identifier that initdb gave the cluster, and the timeline of the last write that this server has. A position is a place in the log, in bytes.
//
//   of a primary    the timeline that it writes on, and how far it has written to its disk
//   of a standby    the greater of what it has received and what it has replayed. After a start its folder may hold more than it has replayed. Until the standby has asked for data that is not in its folder (it waits, or
//                   has started to receive), nobody knows how much it has, and the view is unknown. The timeline is that of the receiver, or of the latest file of the log in its folder: the control file lags behind.
//                   If the timeline of a file has no history, the file is left from a promotion that was interrupted before it wrote anything. PostgreSQL does not read such a file, and it does not count
import type { View } from "./choice.ts";
import type { ServerSpec } from "./replication.ts";

export const STARTED = "SELECT extract(epoch FROM pg_postmaster_start_time())::text AS started";

export const LOOK = `SELECT pg_is_in_recovery() AS standby, system_identifier::text AS system, pg_backend_pid() AS pid,
  current_setting('primary_conninfo', true) AS conninfo, coalesce(pg_stat_wal_receiver.status, '') AS receiver,
  CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() - '0/0' ELSE pg_current_wal_flush_lsn() - '0/0' END::text AS position,
  CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn() - '0/0' END::text AS received,
  CASE WHEN pg_is_in_recovery() THEN (SELECT wait_event FROM pg_stat_activity WHERE backend_type = 'startup') END AS waits,
  timeline, pg_read_file('pg_wal/' || timeline || '.history', 0, 100000, true) AS history
  FROM pg_control_system() LEFT JOIN pg_stat_wal_receiver ON true,
  LATERAL (SELECT CASE WHEN NOT pg_is_in_recovery() THEN substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
    ELSE coalesce(lpad(upper(to_hex(received_tli)), 8, '0'),
      (SELECT max(tli) FROM (SELECT DISTINCT substr(name, 1, 8) AS tli FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$') AS files
        WHERE tli = '00000001' OR pg_read_file('pg_wal/' || tli || '.history', 0, 100000, true) ~ '(^|\\n)\\s*\\d+\\s')) END AS timeline) AS own`;

/** The row of the answer. */
export interface ViewRow {
  readonly standby: boolean;
  readonly system: string;
  readonly pid: number;
  readonly conninfo: string | null;
  readonly position: string | null;
  readonly received: string | null;
  readonly waits: string | null;
  readonly receiver: string;
  readonly timeline: string | null;
  /** The text of the history file of `timeline`. */
  readonly history: string | null;
}

/** While the startup process waits for one of these events, it has replayed everything of the log that is in the folder. */
const EXHAUSTED = new Set(["RecoveryRetrieveRetryInterval", "RecoveryWalStream"]);

/** True if the server has replayed everything that it has. */
export function hasReplayedAll({ waits }: ViewRow): boolean {
  return EXHAUSTED.has(waits ?? "");
}

export function viewOf(looked: ViewRow, servers: Readonly<Record<string, ServerSpec>>): View {
  const { standby, system, position, received, receiver } = looked;
  const timeline = Number.parseInt(looked.timeline ?? "", 16);
  if (!Number.isInteger(timeline) || position === null) return { is: "unknown" };
  if (standby && received === null && !hasReplayedAll(looked)) return { is: "unknown" };
  return {
    is: "up",
    role: standby ? "replica" : "primary",
    history: historyOf(system, timeline),
    ancestors: ancestorsIn(looked.history ?? "").map((ancestor) => historyOf(system, ancestor)),
    generation: timeline,
    position: Math.max(Number(position), standby ? Number(received ?? 0) : 0),
    follows: standby ? followedBy(looked.conninfo ?? "", servers) : undefined,
    isLinked: standby && receiver === "streaming",
    isEmpty: false,
  };
}

function historyOf(system: string, timeline: number): string {
  return `${system}/${timeline}`;
}

/** The timelines before this one, the last one first. The history file has one line for each of them. */
function ancestorsIn(historyFile: string): readonly number[] {
  const lines = historyFile.split("\n").filter((line) => /^\s*\d+\s/.test(line));
  return lines.map((line) => Number.parseInt(line, 10)).toReversed();
}

export function followedBy(conninfo: string, servers: Readonly<Record<string, ServerSpec>>): string | undefined {
  const [, host] = /(?:^|\s)host='?([^'\s]*)'?/.exec(conninfo) ?? [];
  const [, port] = /(?:^|\s)port='?(\d+)'?/.exec(conninfo) ?? [];
  return Object.values(servers).find((server) => server.host === host && `${server.port}` === port)?.name;
}

/** A place in the log of one timeline. */
export interface WalPosition {
  readonly timeline: number;
  readonly position: number;
}

/** True if one of these places is not in the past of `timeline`, whose history file is given. A server that has come to such a place has parted from that timeline. */
export function isBeyond(places: readonly WalPosition[], timeline: number, historyFile: string): boolean {
  return places.some((place) => {
    if (place.timeline === timeline) return false;
    const left = leftAt(historyFile, place.timeline);
    return left === undefined || place.position > left;
  });
}

/** Where the server left `timeline` for the next one, by its history file. Undefined if it has never been on `timeline`, or still is. */
export function leftAt(historyFile: string, timeline: number): number | undefined {
  const line = historyFile.split("\n").find((each) => Number(/^\s*(\d+)\s/.exec(each)?.[1]) === timeline);
  const [, high = "", low = ""] = /\s([0-9A-F]+)\/([0-9A-F]+)/i.exec(line ?? "") ?? [];
  return high === "" ? undefined : Number.parseInt(high, 16) * 2 ** 32 + Number.parseInt(low, 16);
}

/** The connection string, as libpq reads it. The password stands in the settings of the standby, which only their owner can read. */
export function conninfoTo({ url, host, port }: ServerSpec, extra: Readonly<Record<string, string>>): string {
  const { username, password, searchParams } = new URL(url);
  const parts: Record<string, string> = { host, port: `${port}`, user: decodeURIComponent(username) || "postgres" };
  if (password !== "") parts["password"] = decodeURIComponent(password);
  for (const name of ["sslmode", "sslrootcert"]) if (searchParams.has(name)) parts[name] = searchParams.get(name) ?? "";
  const quoted = ([name, value]: readonly [string, string]): string =>
    `${name}='${value.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  return Object.entries({ ...parts, ...extra })
    .map(quoted)
    .join(" ");
}

/**
 * The name under which a standby connects to a primary that is on `timeline`, after its guard has seen that it has nothing which this primary does not have.
 *
 * SAFETY: a primary of PostgreSQL believes how far a standby says it has come, and does not ask on which timeline. With PostgreSQL 15, a server that had parted and had more than its new primary was seen to confirm commits
 * that it never had, for some 20 ms at each of its attempts to connect. So a commit waits for standbys by this name. A server that was not compared with this very timeline has another name, and its confirmations count for
 * nothing.
 */
export function standbyName(server: string, timeline: number): string {
  return `${server}/${timeline}`;
}

/** The timeline for which a standby has its name. Undefined if it has no such name. */
export function timelineOfName(conninfo: string): number | undefined {
  const [, timeline] = /(?:^|\s)application_name='[^']*\/(\d+)'/.exec(conninfo) ?? [];
  return timeline === undefined ? undefined : Number(timeline);
}

/** The value of `synchronous_standby_names`. A name that no standby has makes every commit wait; a server that was not told its standbys yet has such a name. */
export function standbyNames(confirmations: number, standbys: readonly string[]): string {
  const names = standbys.length === 0 ? ["conclave nobody"] : standbys;
  return `ANY ${confirmations} (${names.map((name) => `"${name}"`).join(", ")})`;
}
