// The table of commands. Each is loaded only when it is asked for.
import type { CommandModule } from "./command.ts";

export interface CommandEntry {
  readonly summary: string;
  readonly load: () => Promise<CommandModule>;
  /** The exit code for all errors of conclave itself, where 2 and 3 would be taken for those of another program. */
  readonly trouble?: number;
}

export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  demo: {
    summary: "three real processes elect a leader; leaders are killed and stopped",
    load: () => import("./demo.ts"),
  },
  run: { summary: "runs a command only while this process leads", load: () => import("./run.ts"), trouble: 125 },
  leader: { summary: "who leads now", load: () => import("./leader.ts") },
  list: { summary: "the elections of a store, and who leads each", load: () => import("./list.ts") },
  observe: { summary: "prints the leader, then a line for every change", load: () => import("./observe.ts") },
  memo: { summary: "what the leaders of an election have noted", load: () => import("./memo.ts") },
  resign: { summary: "asks the leader of a term to hand over", load: () => import("./resign.ts") },
  transfer: {
    summary: "asks a leader to hand over to the candidate that you name",
    load: () => import("./transfer.ts"),
  },
  drill: { summary: "tests your store with real faults, judged from outside", load: () => import("./drill.ts") },
  schedule: { summary: "sets the mark of a schedule: which slots count as run", load: () => import("./schedule.ts") },
  partitions: {
    summary: "who leads which partition of a group; drain, transfer; a demo",
    load: () => import("./partitions.ts"),
  },
  fence: { summary: "tells a guard that the store was moved, or repairs the guard", load: () => import("./fence.ts") },
  failover: {
    summary: "replaces a database primary that is down, and never makes two",
    load: () => import("./failover.ts"),
  },
  stonith: {
    summary: "powers a leader's machine off before the next leader begins",
    load: () => import("./stonith.ts"),
  },
  schema: { summary: "prints what an administrator applies once: tables, rights", load: () => import("./schema.ts") },
  sim: { summary: "simulated elections: one, a swarm, a scenario, an exercise", load: () => import("./sim.ts") },
  completion: {
    summary: "prints a script that completes commands and flags in your shell",
    load: () => import("./completion.ts"),
  },
};
