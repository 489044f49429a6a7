// `conclave failover status`: how a group stands. Reads only.
import { type FailoverStatus, statusOf } from "../../failover/index.ts";
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
    process.stdout.write(values.json ? `${JSON.stringify(found)}\n` : told(found));
    return found.seated === undefined ? NO : YES;
  } finally {
    await candidate.close();
    await store.close();
  }
}

function told({ name, record, leader, seated, monitors, servers }: FailoverStatus): string {
  const step = record === undefined ? "no monitor has ever led" : `${record.step.at}, epoch ${record.epoch}`;
  return [
    `${name}: ${seated?.server ?? "nobody"} is the primary${record?.isPaused === true ? "; failover is PAUSED" : ""}`,
    `  step      ${step}${record?.primary === undefined || record.primary === seated?.server ? "" : `; the record names ${record.primary}`}`,
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
    "",
  ].join("\n");
}
