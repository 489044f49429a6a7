// Judges what members have noted of the partitions that they held: partition by partition, with the judge of one election (conclave/testing).
import { judgeLog } from "../../testing/index.ts";

export interface PartitionsVerdict {
  /** Leaderships that the notes show. */
  readonly terms: number;
  /** A sentence for every partition that two held at one instant. */
  readonly overlaps: readonly string[];
  /** A sentence for every epoch that is not greater than the one before. */
  readonly regressions: readonly string[];
  readonly unread: readonly string[];
}

/** Lines of all members: `PARTITION MILLISECONDS WHO begin|act|end EPOCH`. A last line without its end is left out. */
export function judgePartitions(logs: readonly string[]): PartitionsVerdict {
  const lines = new Map<string, string[]>();
  const unread: string[] = [];
  for (const log of logs)
    for (const line of log.slice(0, log.lastIndexOf("\n") + 1).split("\n")) {
      if (line === "") continue;
      const [, partition = "", rest = ""] = /^(\d+) (.*)$/.exec(line) ?? [];
      if (rest === "") unread.push(line);
      const own = lines.get(partition);
      if (own === undefined) lines.set(partition, [rest]);
      else own.push(rest);
    }
  const verdicts = [...lines].map(([partition, own]) => ({ partition, ...judgeLog(own.join("\n")) }));
  const named = (which: "overlaps" | "regressions" | "unread"): readonly string[] =>
    verdicts.flatMap(({ partition, [which]: found }) => found.map((sentence) => `partition ${partition}: ${sentence}`));
  return {
    terms: verdicts.reduce((sum, { terms }) => sum + terms, 0),
    overlaps: named("overlaps"),
    regressions: named("regressions"),
    unread: [...unread, ...named("unread")],
  };
}
