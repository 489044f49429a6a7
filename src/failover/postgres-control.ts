// What the control file of a server that is down says: how it ended, and where its last checkpoint is. Read by pg_controldata of the same version.
import { execFile } from "node:child_process";
import type { PostgresHome } from "./postgres-home.ts";

export interface Control {
  /** "shut down" only after a clean stop of a primary. */
  readonly state: string;
  /** Where the record of the last checkpoint begins. */
  readonly checkpoint: number;
}

/** Undefined: it cannot be read. */
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
  const [, high, low] = /^Latest checkpoint location:\s*([0-9A-F]+)\/([0-9A-F]+)$/m.exec(text) ?? [];
  if (state === undefined || high === undefined || low === undefined) return undefined;
  return { state, checkpoint: Number.parseInt(high, 16) * 2 ** 32 + Number.parseInt(low, 16) };
}
