// Many seeds of one election, on all cores: distributions of what they took and cost. Numbers that depend on the machine go to stderr.
import type { Sample, SampleOrder } from "../simulator/index.ts";
import { progressOf, shareOut } from "./sim-pool.ts";
import { samplesAsCsv, summarize, tellSwarm } from "./sim-report.ts";

export interface SwarmTelling {
  readonly name: string;
  readonly nodes: number;
  /** Whether a term that nobody won says anything about this protocol. */
  readonly hasVotes: boolean;
  readonly isJson: boolean;
  readonly isCsv: boolean;
  /** What the user typed, for the replay command. */
  readonly args: readonly string[];
}

/** Runs a swarm and prints it. What depends on the machine goes to stderr. */
export async function tellSamples(
  order: SampleOrder,
  { name, nodes, hasVotes, isJson, isCsv, args }: SwarmTelling,
): Promise<number> {
  const startedAt = performance.now();
  const samples = await takeAll(order, name);
  const seconds = (performance.now() - startedAt) / 1000;
  const summary = summarize(name, nodes, samples, (seed) => replayCommand(args, seed));
  const text = isCsv
    ? samplesAsCsv(samples)
    : isJson
      ? `${JSON.stringify(summary)}\n`
      : tellSwarm(summary, samples, hasVotes);
  process.stdout.write(text);
  const events = samples.reduce((sum, sample) => sum + sample.events, 0);
  process.stderr.write(
    `${order.count} seeds, ${events} events in ${seconds.toFixed(1)} s: ${Math.round(events / seconds)} events/s\n`,
  );
  return summary.failures.length === 0 ? 0 : 1;
}

/** The samples in the order of seeds. */
async function takeAll(order: SampleOrder, name: string): Promise<readonly Sample[]> {
  const taken: (readonly Sample[])[] = [];
  const progress = progressOf(name, order.count);
  let done = 0;
  await shareOut(order, (samples, portion) => {
    taken[portion] = samples;
    done += samples.length;
    progress(done);
  });
  return taken.flat();
}

/** The same arguments, for one seed. */
function replayCommand(args: readonly string[], seed: number): string {
  const kept: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const word = args[index] ?? "";
    if (word === "--seeds" || word === "--seed") index++;
    else if (!/^--(?:seeds?=|csv$|json$)/.test(word)) kept.push(word);
  }
  return `conclave sim ${kept.map(quoted).join(" ")} --seed ${seed}`;
}

/** Quotes for a shell, in which `1>2` would be a redirection. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
