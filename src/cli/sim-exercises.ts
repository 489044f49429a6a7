// `conclave sim exercise 1|3|4|5`: runs the exercises of the seed document and prints the results. With --json it prints the numbers alone.
import {
  bullyFailure,
  formatEvent,
  type LeaseRow,
  leaseTable,
  type SplitBrain,
  splitBrain,
} from "../simulator/index.ts";
import { stonithExercise } from "./sim-stonith.ts";
import { fit } from "./help-text.ts";

export interface Exercise {
  readonly text: string;
  readonly json: unknown;
}

export function runExercise(number: string, seed: number): Exercise | undefined {
  if (number === "1") return bullyExercise(seed);
  if (number === "3") return splitBrainExercise(seed);
  if (number === "5") return stonithExercise(seed);
  return number === "4" ? leaseExercise(seed) : undefined;
}

function bullyExercise(seed: number): Exercise {
  const cases = [bullyFailure(7, seed), bullyFailure(5, seed)];
  const told = cases.map(({ failed, events }) =>
    [
      `P${failed} of P1…P7 is dead. P1 notices and holds an election.`,
      "",
      ...events.flatMap((event) => formatEvent(event) ?? []),
      "",
    ].join("\n"),
  );
  const types = ["ELECTION", "OK", "COORDINATOR"];
  const row = (name: string, cells: readonly (string | number)[]): string =>
    name.padEnd(16) + cells.map((cell) => String(cell).padStart(13)).join("");
  const table = [
    row("", [...types, "total", "leader"]),
    ...cases.map(({ failed, result }) =>
      row(`P${failed} fails`, [
        ...types.map((type) => result.messages.byType[type] ?? 0),
        result.messages.total,
        `P${result.leader ?? "?"}`,
      ]),
    ),
  ];
  const second = cases[1]?.result.messages.total ?? 0;
  const text = [
    ...told,
    ...table,
    "",
    fit(
      "P7 fails: every live node asks all nodes above it, ELECTION 7·6/2 = 21, six of them to the dead P7. Each live node answers all below it, OK 6·5/2 = 15. The winner tells the five below it. That makes 7² − 7 − 1 = 41 messages: the price of replacing a leader when the lowest node notices first.",
    ),
    fit(
      `P5 fails: ${second} messages, and nothing changes: P7 led before and leads after. P5 did not lead, but P1's election makes every node above it ask again: ELECTION 6+5+4+3+1 = 19. The dead P5 asks nobody, but four nodes ask it. OK is 15, for the messages that reached a live node. COORDINATOR is sent by P7 to 6 nodes at once, and again to each of the four nodes that ask it later. Bully does not ask whether an election is needed, so a needless one costs as much.`,
    ),
    fit(
      "The remedy is to watch only the leader. Then the death of P5 costs nothing: conclave sim bully --nodes 7 --crash 5 --detector heartbeat",
    ),
    "",
  ].join("\n");
  return { text, json: { exercise: 1, seed, cases: cases.map(({ failed, result }) => ({ failed, ...result })) } };
}

function splitBrainExercise(seed: number): Exercise {
  const without = splitBrain(false, seed);
  const fenced = splitBrain(true, seed);
  const story = (split: SplitBrain): readonly string[] =>
    split.events
      .filter(({ type }) => type === "token" || type === "write" || type === "announce" || type === "violation")
      .flatMap((event) => formatEvent(event) ?? []);
  const firstStale = story(without).findIndex((line) => line.includes("stale"));
  const firstRefused = story(fenced).findIndex((line) => line.includes("refused"));
  const around = (lines: readonly string[], place: number): readonly string[] =>
    lines.slice(Math.max(0, place - 6), place + 4);
  const row = (name: string, a: string | number, b: string | number): string =>
    name.padEnd(48) + String(a).padStart(16) + String(b).padStart(12);
  const text = [
    fit(
      "Five nodes of Bully; P5 leads and writes every 40 ms. From 100 ms to 2100 ms the network is cut: P1, P2, P3 / P4, P5. Each side has its leader: P3 on the first, P5 on the second. A lock service gives every new leader a greater token.",
    ),
    "",
    "Without fencing, the resource accepts every write:",
    ...around(story(without), firstStale),
    "",
    "With fencing, the resource compares tokens:",
    ...around(story(fenced), firstRefused),
    "",
    row("", "without fencing", "fenced"),
    row("two nodes say that they lead, ms", without.twoLeadersMs, fenced.twoLeadersMs),
    row("two nodes write, ms", without.twoWritersMs, fenced.twoWritersMs),
    row("writes taken", without.accepted, fenced.accepted),
    row("  of these stale: they overwrote a newer leader", without.stale, fenced.stale),
    row("writes refused", without.refused, fenced.refused),
    "",
    fit(
      "Fencing does not prevent two nodes from believing that they lead; only a quorum or a lease does. Fencing makes the belief harmless: after the first write of the new leader, the next write of the old leader is refused. The refusal tells the old leader what its own algorithm cannot tell it.",
    ),
    "",
  ].join("\n");
  const numbers = ({ events: _events, ...rest }: SplitBrain): object => rest;
  return { text, json: { exercise: 3, seed, without: numbers(without), fenced: numbers(fenced) } };
}

function leaseExercise(seed: number): Exercise {
  const rows = leaseTable(seed);
  const cells = (row: LeaseRow): string =>
    [
      `${row.leaseMs / 1000} s`,
      `${row.renewDeadlineMs / 1000} s`,
      `${(row.failoverMs / 1000).toFixed(1)} s`,
      `${(row.failoverMaxMs / 1000).toFixed(1)} s`,
      String(row.falsePerHour),
    ]
      .map((cell) => cell.padStart(16))
      .join("");
  const text = [
    fit(
      "Three candidates of the lease machine. Failover: 60 crashes of a leader, from the crash to the next election. False elections: a healthy leader is cut off from the store 60 times an hour, for 3 s on average (exponential). Every election that follows is counted, because no leader had died.",
    ),
    "",
    ["lease duration", "renew deadline", "median failover", "worst", "false per hour"]
      .map((word) => word.padStart(16))
      .join(""),
    ...rows.map(cells),
    "",
    fit(
      "A dead leader is replaced when the next one has seen a full lease of silence. So failover takes about one lease, at worst a quarter more, whatever the renew deadline is. A live leader that cannot renew gives up at the renew deadline. So false elections depend on that deadline, and on the lease only because the deadline must be shorter.",
    ),
    fit(
      "Choose the lease as short as failover must be, and the renew deadline as close to it as stopping the work allows. 15 s and 10 s are the defaults of Kubernetes.",
    ),
    "",
    "On a real cluster, with a kubeconfig and the right to make a Role:",
    "  conclave schema kubernetes | kubectl apply -f -                                    the rights that candidates need",
    "  conclave drill --store kubernetes://default --ttl 15s --rounds 20 --faults crash   crashes and their failover times, judged from outside",
    "  conclave drill --store kubernetes://default --ttl 30s --rounds 20 --faults crash   the same with the longer lease",
    "  kubectl get lease -n default --watch                                               who holds it, while that runs",
    "",
  ].join("\n");
  return { text, json: { exercise: 4, seed, rows } };
}
