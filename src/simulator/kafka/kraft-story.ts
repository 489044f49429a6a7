// The controller of KRaft: members of a quorum replicate the metadata as a log, and the leader of their Raft is the controller. A new leader has all of it in memory, so that it needs an election and
// reads nothing. The elections are those of the Raft node of this package (src/protocols/raft), in its own simulated world.
//
// Assumed: each member of the quorum is one of the brokers, so that its partitions need a new leader when it is gone. The other brokers are known to be alive by their heartbeats, and a new controller
// gives each of them a whole session before it calls one dead. Changes of partitions are one batch of the log, which the other members fetch, and then every broker.
import { fixedLatency } from "../kernel/latency.ts";
import { type ElectionRun, runElection, specOf } from "../protocols/election.ts";
import type { Cost, KafkaPlan } from "./plan.ts";
import { KafkaPost } from "./post.ts";

const MEND_AFTER_MS = 1000;

/** The leader dies, for good. */
export function kraftCrash(plan: KafkaPlan): Cost {
  return play(plan, 1, false);
}

/** The leader of the moment is cut off from all others, again and again. */
export function kraftStorm(plan: KafkaPlan): Cost {
  return play(plan, plan.cuts, true);
}

function play(plan: KafkaPlan, faults: number, isMended: boolean): Cost {
  const byKind: Record<string, number> = {};
  let states = 0;
  let ledMs = 0;
  let electedMs = 0;
  for (let fault = 0; fault < faults; fault++) {
    const startMs = fault * plan.cutEveryMs;
    const election = elect(plan, fault);
    add(byKind, election.result.messages.byType);
    electedMs = startMs + election.agreedMs;
    const fencedMs = electedMs + plan.sessionMs;
    const mendedMs = isMended ? startMs + plan.sessionMs + MEND_AFTER_MS : Infinity;
    // A broker that is back before the new controller calls it dead goes on leading what it led.
    if (mendedMs < fencedMs) ledMs = Math.max(electedMs, mendedMs);
    else {
      const moved = move(plan);
      add(byKind, moved.byKind);
      states += moved.states;
      ledMs = fencedMs + moved.ms;
    }
  }
  const messages = Object.values(byKind).reduce((sum, count) => sum + count, 0);
  return { electedMs, ledMs, messages, byKind, states, elected: faults, finished: faults };
}

function elect(
  { quorum, seed, latencyMs, writeMs, electionMinMs, electionMaxMs }: KafkaPlan,
  fault: number,
): ElectionRun {
  return runElection(
    specOf("raft-election", {
      nodes: quorum,
      seed: seed + fault,
      leader: quorum,
      down: [quorum],
      links: { latency: fixedLatency(latencyMs), lossChance: 0, duplicateChance: 0, isFifo: true },
      diskLatency: fixedLatency(writeMs),
      settings: { electionTimeoutMinMs: electionMinMs, electionTimeoutMaxMs: electionMaxMs },
    }),
  );
}

/** The partitions of one broker get other leaders: a batch of the log, to the quorum and to every broker. */
function move(plan: KafkaPlan): {
  readonly ms: number;
  readonly byKind: Record<string, number>;
  readonly states: number;
} {
  const { brokers, partitions, quorum, writeMs } = plan;
  const post = new KafkaPost(plan);
  const moved = Math.ceil(partitions / brokers);
  const majority = Math.floor(quorum / 2) + 1;
  let written = 1;
  let told = 0;
  let doneMs = 0;
  post.count();
  const others = brokers - quorum;
  const tellAll = (): void => {
    doneMs = post.nowMs;
    for (let broker = quorum + 1; broker <= brokers; broker++)
      post.send("fetch: answer", 1, broker, moved, () => {
        if (++told === others) doneMs = post.nowMs;
        post.send("fetch", broker, 1, 0, () => {});
      });
  };
  // The other members of the quorum without the one that is gone; each writes before it asks for the next.
  for (let member = 2; member < quorum; member++)
    post.send("fetch: answer", 1, member, moved, () =>
      post.at(post.nowMs + writeMs, () =>
        post.send("fetch", member, 1, 0, () => {
          if (++written === majority) tellAll();
        }),
      ),
    );
  post.run(Infinity, () => false);
  return { ms: doneMs, byKind: post.byKind, states: post.states };
}

function add(sums: Record<string, number>, counts: Readonly<Record<string, number>>): void {
  for (const [kind, count] of Object.entries(counts)) sums[kind] = (sums[kind] ?? 0) + count;
}
