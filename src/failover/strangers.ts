// A stranger: a process that answers at the address of a server, and that the guard of this server has not started. An enabled unit starts one after a boot, or somebody does by hand. The guard ends no stranger, because it
// may be the service of another guard. It says whether the stranger takes writes now and how to end it, and starts nothing beside it.
import { readFileSync } from "node:fs";
import type { Replication, ServerSpec } from "./replication.ts";
import { USUAL_UNITS } from "./units.ts";

/** The sentences about the stranger that answers now at the address of `server`. Undefined if nobody answers. */
export async function strangerAt(replication: Replication, server: ServerSpec): Promise<string | undefined> {
  const link = await replication.connect(server).catch(() => undefined);
  if (link === undefined) return undefined;
  try {
    const view = await link.view();
    const pid = await link.pid().catch(() => undefined);
    const role = view.is === "up" ? view.role : undefined;
    return `process ${pid ?? "?"} answers at ${server.host}:${server.port}, and was not started by this guard. ${ROLES[role ?? "unknown"]} ${cureOf(replication.kind, pid)}`;
  } finally {
    link.close();
  }
}

const ROLES = {
  primary: "It takes writes NOW, although no guard lets it: what clients write there is lost.",
  replica: "It is a replica, and takes no writes.",
  unknown: "It does not say whether it takes writes.",
} as const;

/** How to end it. A process of PostgreSQL that answers is only a backend, so its number is of no use. */
function cureOf(kind: string, pid: number | undefined): string {
  const unit = pid === undefined ? undefined : unitOf(kind, pid);
  if (unit !== undefined) return `End it: systemctl disable --now ${unit}`;
  if (kind === "postgres") return "End it: pg_ctl stop -m fast -D ITS-DATA-FOLDER, or disable what starts it";
  return `End it: kill ${pid ?? "PID"}, or disable what starts it`;
}

/** The usual unit that the process belongs to, by its cgroup. */
function unitOf(kind: string, pid: number): string | undefined {
  try {
    const parts = readFileSync(`/proc/${pid}/cgroup`, "utf8").split(/[/\n]/);
    return (USUAL_UNITS[kind] ?? []).find((unit) => parts.includes(unit));
  } catch {
    return undefined;
  }
}
