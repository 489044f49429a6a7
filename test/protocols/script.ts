// N nodes and scripted events: shorthand for tests that count messages and look for leaders.
//
//   const { result, splitVotes } = elect("bully", { nodes: 7, leader: 7, down: [7] }, ["tell 1 suspect 7", "50ms crash 6"]);
//   expect(result.messages.byType).toEqual({ … });
//
// For a step-by-step story take a ProtocolWorld, or better a scenario file in testdata/.
import {
  type ElectionOptions,
  type ElectionRun,
  parseAction,
  parseMs,
  runElection,
  type Scheduled,
  specOf,
} from "conclave/simulator";

/** `crash 3` at once, `50ms crash 3` later. */
export function scheduled(line: string): Scheduled {
  const timed = /^(\d\S*(?:ms|s)) (.+)$/.exec(line);
  const action = parseAction(timed?.[2] ?? line);
  if (action === undefined) throw new RangeError(`no action: ${line}`);
  return { atMs: timed === null ? 0 : parseMs(timed[1] ?? ""), action };
}

export function elect(
  protocol: string,
  choices: Parameters<typeof specOf>[1] = {},
  lines: readonly string[] = [],
  options: ElectionOptions = {},
): ElectionRun {
  return runElection(specOf(protocol, { ...choices, schedule: lines.map(scheduled) }), options);
}
