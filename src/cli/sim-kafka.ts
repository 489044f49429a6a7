// `conclave sim kafka`: the story of Kafka's controller, told in messages and seconds (docs/KAFKA.md). Simulated time; the same arguments print the same bytes.
import { type Cost, KAFKA_PLAN, type KafkaPlan, type KafkaRow, kafkaStories, parseMs } from "../simulator/index.ts";
import { wholeNumber } from "./sim-options.ts";
import { fit } from "./help-text.ts";
import { readFlags } from "./flags.ts";

export const KAFKA_HELP: string = `kafka: how a cluster replaces its controller: the race for /controller, a queue, KRaft, conclave/partitions
  --brokers N            default ${KAFKA_PLAN.brokers}
  --partitions N         default ${KAFKA_PLAN.partitions}
  --latency 0.5ms        of every message, one way
  --read 0.1ms           how long the store is busy with a read; it serves one request at a time
  --write 2ms            and with a write
  --session 6s           silence after which a broker counts as dead
  --in-flight N          requests of a controller under way at once, of Kafka since 1.1 (default ${KAFKA_PLAN.inFlight})
  --cuts N               the storm: so often the controller of the moment is cut off (default ${KAFKA_PLAN.cuts})
  --cut-every 10s        and so far apart
  --seed S               of the elections of Raft
  --json                 {plan, rows: [{story, crash, storm}]}, with the messages by kind
`;

const OPTIONS = {
  brokers: { type: "string" },
  partitions: { type: "string" },
  latency: { type: "string" },
  read: { type: "string" },
  write: { type: "string" },
  session: { type: "string" },
  "in-flight": { type: "string" },
  cuts: { type: "string" },
  "cut-every": { type: "string" },
  seed: { type: "string" },
  json: { type: "boolean", default: false },
} as const;

const NAMES: Readonly<Record<KafkaRow["story"], string>> = {
  race: "race for /controller, until Kafka 1.0",
  "race-async": "race for /controller, Kafka 1.1 to 3",
  line: "the same with a queue",
  kraft: "KRaft",
  conclave: "conclave/partitions",
};

/** From so many brokers times partitions on, a user at a terminal would wonder whether anything happens. */
const MANY = 2_000_000;

export function runKafka(args: readonly string[]): number {
  const { values } = readFlags({ args: [...args], options: OPTIONS, strict: true, allowPositionals: false });
  const count = (option: keyof typeof values, usual: number): number =>
    values[option] === undefined ? usual : wholeNumber(option, values[option], 0);
  const duration = (option: keyof typeof values, usual: number): number =>
    values[option] === undefined ? usual : parseMs(String(values[option]));
  const plan: KafkaPlan = {
    ...KAFKA_PLAN,
    brokers: count("brokers", KAFKA_PLAN.brokers),
    partitions: count("partitions", KAFKA_PLAN.partitions),
    latencyMs: duration("latency", KAFKA_PLAN.latencyMs),
    readMs: duration("read", KAFKA_PLAN.readMs),
    writeMs: duration("write", KAFKA_PLAN.writeMs),
    sessionMs: duration("session", KAFKA_PLAN.sessionMs),
    inFlight: count("in-flight", KAFKA_PLAN.inFlight),
    cuts: count("cuts", KAFKA_PLAN.cuts),
    cutEveryMs: duration("cut-every", KAFKA_PLAN.cutEveryMs),
    seed: count("seed", KAFKA_PLAN.seed),
  };
  if (plan.brokers * plan.partitions >= MANY)
    process.stderr.write(
      `conclave sim kafka: ${plan.brokers} brokers and ${plan.partitions} partitions take a while, about a minute for 100 and 100000\n`,
    );
  const rows = kafkaStories(plan);
  process.stdout.write(values.json ? `${JSON.stringify({ plan, rows })}\n` : tell(plan, rows));
  return 0;
}

function tell(plan: KafkaPlan, rows: readonly KafkaRow[]): string {
  const { brokers, partitions, latencyMs, readMs, writeMs, sessionMs, cuts, cutEveryMs } = plan;
  return [
    `${brokers} brokers, ${partitions} partitions. A message takes ${latencyMs} ms one way; the store serves one request at a time, a read in ${readMs} ms, a write in ${writeMs} ms.`,
    `A broker counts as dead after ${sessionMs / 1000} s of silence. Heartbeats and pings are not counted.`,
    "",
    "The controller, which is a broker too, dies:",
    ...table(rows, ({ crash }) => crash),
    "",
    `The resign storm: ${cuts} times, every ${cutEveryMs / 1000} s, the controller of the moment is cut off for ${sessionMs / 1000 + 1} s and then comes back:`,
    ...table(rows, ({ storm }) => storm),
    "",
    fit(whatIsDifferent(brokers, rows).join("\n")),
    "",
  ].join("\n");
}

function table(rows: readonly KafkaRow[], costOf: (row: KafkaRow) => Cost): readonly string[] {
  const line = (name: string, cells: readonly (string | number)[]): string =>
    `  ${name.padEnd(39)}${cells.map((cell) => String(cell).padStart(12)).join("")}`;
  return [
    line("", ["controller", "all led", "messages", "states", "elected", "finished"]),
    ...rows.map((row) => {
      const { electedMs, ledMs, messages, states, elected, finished } = costOf(row);
      return line(NAMES[row.story], [seconds(electedMs), seconds(ledMs), messages, states, elected, finished]);
    }),
  ];
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;

/** Is made from the numbers above, so that it stays true with others. */
function whatIsDifferent(brokers: number, rows: readonly KafkaRow[]): readonly string[] {
  const of = (story: KafkaRow["story"]): KafkaRow | undefined => rows.find((row) => row.story === story);
  const [race, queue, ours] = [of("race"), of("line"), of("conclave")];
  const reads = race?.crash.byKind["read the state of a partition"] ?? 0;
  const saved = (of("race-async")?.crash.messages ?? 0) - (queue?.crash.messages ?? 0);
  const chunks = ours?.crash.byKind["write a chunk"] ?? 0;
  return [
    "controller: until the last one was elected. all led: until every partition has a leader that was told. states: of partitions, in all messages together.",
    `The race itself is cheap: ${brokers - 1} brokers are told, ${brokers - 1} try, one succeeds. A queue saves ${saved} messages, and none of the ${reads} reads, one for each partition, which a`,
    `new controller makes before it can do anything. In the storm it makes them again and again: with one read after the other, ${race?.storm.finished ?? 0} of ${race?.storm.elected ?? 0} controllers had finished before the`,
    "next cut. KRaft has no such reads, because each controller has the log already; and it waits for no session before an election, only before a broker is called dead.",
    `conclave/partitions waits for the session, as ZooKeeper does. Its controller reads all assignments at once, and writes ${chunks} memos for the partitions of the dead one; most of its`,
    "messages are members that read these.",
  ];
}
