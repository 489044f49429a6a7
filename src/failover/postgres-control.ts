// Reads the control file of a PostgreSQL server that is down, with pg_controldata of the same version. The file says how the server ended, and where its last checkpoint is.
import { execFile } from "node:child_process";
import type { PostgresHome } from "./postgres-home.ts";
import type { WalPosition } from "./postgres-view.ts";

export interface Control {
  /** It is "shut down" only after a clean stop of a primary. */
  readonly state: string;
  /** The position at which the record of the last checkpoint begins. */
  readonly checkpoint: number;
  /** Places in the log that the data of this server certainly reaches: the last checkpoint, and the end of what its recovery has written since. */
  readonly reached: readonly WalPosition[];
  /** The folder was copied, or rewound, while its source went on. The server answers nobody before it has replayed what the source wrote meanwhile. */
  readonly isCopy: boolean;
}

/**
 * True if pg_rewind can work on this server as it is. The server must have ended by itself, so that nothing of the log has to be replayed before its data is whole. And its last checkpoint must be on the timeline that its
 * recovery has come to, because pg_rewind takes the timeline of the checkpoint for that of the server. (Seen with pg_rewind 15: a server that was killed right after its promotion, before its first checkpoint, needed "no
 * rewind", although it had writes of its own.)
 */
export function canBeRewound({ state, reached }: Control): boolean {
  const [checkpoint, recovery] = reached;
  const isWhole = state === "shut down" || state === "shut down in recovery";
  return isWhole && (recovery === undefined || recovery.timeline === checkpoint?.timeline);
}

/** The timeline of the last write that the data of this server certainly has. */
export function lastTimeline({ reached }: Control): number {
  return Math.max(...reached.map(({ timeline }) => timeline));
}

/** Returns undefined if the control file cannot be read. */
export function readControl(home: PostgresHome): Promise<Control | undefined> {
  return new Promise((resolve) => {
    const env = { ...process.env, LC_ALL: "C" };
    execFile(home.program("pg_controldata"), ["-D", home.data], { env, timeout: 10_000 }, (error, stdout) =>
      resolve(error === null ? parseControl(stdout) : undefined),
    );
  });
}

export function parseControl(text: string): Control | undefined {
  const state = /^Database cluster state:\s*(.*)$/m.exec(text)?.[1];
  const checkpoint = positionIn(text, "Latest checkpoint location");
  const timeline = numberIn(text, "Latest checkpoint's TimeLineID");
  if (state === undefined || checkpoint === undefined || timeline === undefined) return undefined;
  const recovered = positionIn(text, "Minimum recovery ending location") ?? 0;
  const recovery = { timeline: numberIn(text, "Min recovery ending loc's timeline") ?? 0, position: recovered };
  // The record of the checkpoint begins at that position, so at least its first byte is in the log. If a successor has left the timeline at that very place, this server has parted from it, and PostgreSQL no longer starts it.
  const begun = { timeline, position: checkpoint + 1 };
  const isCopy = (positionIn(text, "Backup start location") ?? 0) > 0;
  return { state, checkpoint, reached: [begun, ...(recovered > 0 ? [recovery] : [])], isCopy };
}

function positionIn(text: string, name: string): number | undefined {
  const [, high = "", low = ""] = new RegExp(`^${name}:\\s*([0-9A-F]+)/([0-9A-F]+)$`, "m").exec(text) ?? [];
  return high === "" ? undefined : Number.parseInt(high, 16) * 2 ** 32 + Number.parseInt(low, 16);
}

function numberIn(text: string, name: string): number | undefined {
  const [, number] = new RegExp(`^${name}:\\s*(\\d+)$`, "m").exec(text) ?? [];
  return number === undefined ? undefined : Number(number);
}
