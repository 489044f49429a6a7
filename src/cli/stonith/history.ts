// `conclave stonith history`: the audit log, as far as the store keeps it. The events of each process have all of it.
import { type HistoryEntry, stonithStatus } from "../../stonith/index.ts";
import { YES } from "../command.ts";
import { readFlags } from "../flags.ts";
import { asJson, COMMON, withSetup } from "./setup.ts";

export async function history(args: readonly string[]): Promise<number> {
  const { values } = readFlags({ args: [...args], options: COMMON, allowPositionals: false });
  return await withSetup(values, { devices: false }, async ({ candidate, config }) => {
    const { record } = await stonithStatus(candidate, config.election);
    const lines = record.history.map(told).join("");
    process.stdout.write(values.json ? asJson(record.history) : lines === "" ? "nothing has happened yet\n" : lines);
    return YES;
  });
}

function told({ wallMs, token, by, is, node, said }: HistoryEntry): string {
  return `${new Date(wallMs).toISOString()} ${node} ${is}: ${said} (by ${by}, term ${token})\n`;
}
