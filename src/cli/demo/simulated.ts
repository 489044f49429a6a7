// `conclave demo --simulated`: one simulated election told line by line, the same for the same seed. The result is true only if there was a leader, the paused leader was
// replaced, its stale write was refused, and no two led at one instant.
import { demoElection, type DemoResult } from "../../simulator/index.ts";
import { NO, YES } from "../command.ts";

export function runSimulated(seed: number, json: boolean): number {
  const result = demoElection(seed);
  process.stdout.write(json ? `${JSON.stringify(result)}\n` : tell(result));
  return isTrue(result) ? YES : NO;
}

function tell({ seed, lines, summary }: DemoResult): string {
  const width = Math.max(...lines.map(({ who }) => who.length));
  const rows = lines.map(
    ({ atMs, who, what }) => `${(atMs / 1000).toFixed(3).padStart(8)} s  ${who.padEnd(width)}  ${what}`,
  );
  const { elected, takeovers, staleWritesRefused, overlaps } = summary;
  const end = `${count(elected, "term")}, ${count(takeovers, "takeover")}, ${count(staleWritesRefused, "stale write")} refused, ${count(overlaps, "overlap")}. Simulated time; the code that decides is the code you run.`;
  return ["", ...rows, "", end, `Again, the same: conclave demo --simulated --seed ${seed}`, ""].join("\n");
}

function isTrue({ summary }: DemoResult): boolean {
  return summary.elected >= 2 && summary.takeovers >= 1 && summary.staleWritesRefused >= 1 && summary.overlaps === 0;
}

export function count(number: number, one: string, many: string = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}
