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
    summary: "three real processes elect a leader; it is killed, stopped, its stale write refused",
    load: () => import("./demo.ts"),
  },
  run: { summary: "runs a command only while this process leads", load: () => import("./run.ts"), trouble: 125 },
  leader: { summary: "who leads now", load: () => import("./leader.ts") },
  list: { summary: "the elections of a store, and who leads each", load: () => import("./list.ts") },
  observe: { summary: "a line for every change of the leader", load: () => import("./observe.ts") },
  memo: { summary: "what the leaders of an election have noted", load: () => import("./memo.ts") },
  resign: { summary: "asks the leader of a term to hand over", load: () => import("./resign.ts") },
  transfer: { summary: "a leader hands over to the candidate you name", load: () => import("./transfer.ts") },
  drill: { summary: "real faults on your store, judged from outside", load: () => import("./drill.ts") },
  schedule: { summary: "sets the mark of a schedule anew", load: () => import("./schedule.ts") },
  partitions: { summary: "who leads which partition; drain, transfer; a demo", load: () => import("./partitions.ts") },
  fence: { summary: "tell a guard that the store has been moved, or repair it", load: () => import("./fence.ts") },
  failover: { summary: "replaces a primary that is down; never two take writes", load: () => import("./failover.ts") },
  stonith: { summary: "a leader's machine is off before the next begins", load: () => import("./stonith.ts") },
  schema: { summary: "what an owner of a store applies once: tables, rights", load: () => import("./schema.ts") },
  sim: { summary: "simulated elections: one, a swarm, a scenario, an exercise", load: () => import("./sim.ts") },
  completion: { summary: "a script that completes these words in your shell", load: () => import("./completion.ts") },
};
