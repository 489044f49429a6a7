// `conclave failover status`: how a group stands. Reads only.
import { type FailoverConfig, type FailoverStatus, type Shot, statusOf } from "../../failover/index.ts";
import { createCandidate } from "../../index.ts";
import { NO, YES } from "../command.ts";
import { readFlags } from "../flags.ts";
import { COMMON, setUp } from "./setup.ts";

export async function status(args: readonly string[]): Promise<number> {
  const { values } = readFlags({ args: [...args], options: COMMON, allowPositionals: false });
  const { config, replication, store } = await setUp(values.config, values.store);
  const candidate = createCandidate({ store, unfenced: true, id: "conclave-failover" });
  try {
    const found = await statusOf(candidate, config, replication);
    const primary = found.seated?.server ?? (config.hasGuards ? undefined : primaryWithoutGuards(found));
    process.stdout.write(values.json ? `${JSON.stringify(found)}\n` : told(found, primary, dangersOf(found, config)));
    return primary === undefined ? NO : YES;
  } finally {
    await candidate.close();
    await store.close();
  }
}

/** Nobody holds a seat. The record names this server, and the server says itself that it is the primary. */
function primaryWithoutGuards({ record, servers }: FailoverStatus): string | undefined {
  const view = servers[record?.primary ?? ""];
  return view?.is === "up" && view.role === "primary" ? record?.primary : undefined;
}

/** A stray in a group with guards has been started, or promoted, beside its guard. */
function dangersOf({ record, strays }: FailoverStatus, { kind, hasGuards }: FailoverConfig): readonly string[] {
  const ends = kind === "redis" && record?.isPaused !== true ? "A monitor that leads makes it a replica. " : "";
  const cure = hasGuards
    ? `${ends}End that process on its host, and disable the unit that started it; its guard says which. Then its guard starts it as a replica`
    : `${ends}Otherwise end it, and start it as a replica`;
  return strays.map(
    (server) =>
      `  DANGER    ${server} TAKES WRITES beside ${record?.primary}: they are lost when it becomes a replica. ${cure}`,
  );
}

function told(
  { name, record, leader, monitors, servers }: FailoverStatus,
  primary: string | undefined,
  dangers: readonly string[],
): string {
  const step = record === undefined ? "no monitor has ever led" : `${record.step.at}, epoch ${record.epoch}`;
  return [
    `${name}: ${primary ?? "nobody"} is the primary${record?.isPaused === true ? "; failover is PAUSED" : ""}`,
    ...dangers,
    `  step      ${step}${record?.primary === undefined || record.primary === primary ? "" : `; the record names ${record.primary}`}`,
    `  leader    ${leader ?? "none"}`,
    ...monitors.map(
      ({ monitor, isThere, votes }) =>
        `  monitor   ${monitor}: ${isThere ? "there" : "NOT THERE"}${votes === undefined ? "" : `, sees ${votes} down`}`,
    ),
    ...Object.entries(servers).map(([server, view]) =>
      view.is === "up"
        ? `  server    ${server}: ${view.role}, position ${view.position}${view.role === "replica" ? `, follows ${view.follows ?? "nobody"}${view.isLinked ? "" : " (not connected)"}` : ""}`
        : `  server    ${server}: NO ANSWER`,
    ),
    ...(record?.shots ?? []).filter(({ isBack }) => !isBack).map(toldOfShot),
    "",
  ].join("\n");
}

function toldOfShot({ server, wallMs, vain, last }: Shot): string {
  const at = new Date(wallMs).toISOString();
  if (last?.outcome === "verified") return `  machine   of ${server}: OFF since ${at}: ${last.said}`;
  const heard = last === undefined ? "nothing was heard yet" : `${last.outcome}, ${vain} in vain: ${last.said}`;
  return `  machine   of ${server}: TO BE OFF since ${at}, not verified: ${heard}`;
}
