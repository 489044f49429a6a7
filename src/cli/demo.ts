// `conclave demo`: one simulated election told line by line. Exits 0 only if what it shows is true: somebody led, the paused leader was replaced, its
// stale write was refused, and no two led at one instant.
import { parseArgs } from "node:util";
import { demoElection, type DemoResult } from "../simulator/index.ts";

const HELP = `usage: conclave demo [--seed N] [--json]

Runs one simulated election of three candidates: the leader is stopped past its deadline with a write under way, another takes over, and the
stale write is refused at the resource by its token. The same seed tells the same story.

  --seed N   another story (default 1)
  --json     one JSON object: {seed, lines: [{atMs, who, what}], summary: {elected, takeovers, staleWritesRefused, overlaps}}
`;

export async function run(args: readonly string[]): Promise<number> {
  const options = {
    seed: { type: "string", default: "1" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", short: "h", default: false },
  } as const;
  const { values } = parse(() => parseArgs({ args: [...args], options, strict: true, allowPositionals: false }));
  if (values === undefined) return 2;
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const seed = Number(values.seed);
  if (!Number.isSafeInteger(seed) || seed < 0) {
    process.stderr.write(`conclave demo: --seed ${values.seed} is not a whole number\n`);
    return 2;
  }
  const result = demoElection(seed);
  process.stdout.write(values.json ? `${JSON.stringify(result)}\n` : tell(result));
  return isTrue(result) ? 0 : 1;
}

function parse<T>(read: () => T): T | { readonly values: undefined } {
  try {
    return read();
  } catch (error) {
    process.stderr.write(`conclave demo: ${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
    return { values: undefined };
  }
}

function tell({ seed, lines, summary }: DemoResult): string {
  const width = Math.max(...lines.map(({ who }) => who.length));
  const rows = lines.map(
    ({ atMs, who, what }) => `${(atMs / 1000).toFixed(3).padStart(8)} s  ${who.padEnd(width)}  ${what}`,
  );
  const { elected, takeovers, staleWritesRefused, overlaps } = summary;
  const end = `${count(elected, "term")}, ${count(takeovers, "takeover")}, ${count(staleWritesRefused, "stale write")} refused, ${count(overlaps, "overlap")}. Simulated time; the code that decides is the code you run.`;
  return ["", ...rows, "", end, `Again, the same: conclave demo --seed ${seed}`, ""].join("\n");
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

function isTrue({ summary }: DemoResult): boolean {
  return summary.elected >= 2 && summary.takeovers >= 1 && summary.staleWritesRefused >= 1 && summary.overlaps === 0;
}
