// `conclave sim lease`: an election by lease, in the form of the other protocols. Requests to the store and its answers are the messages; the term is
// the fencing token.
import { electByLease, formatEvent, type LeaseChoices, parseMs } from "../simulator/index.ts";
import { readCut, readIds, wholeNumber } from "./sim-options.ts";
import { tellSamples } from "./sim-swarm.ts";
import { readFlags } from "./flags.ts";

export const LEASE_HELP: string = `lease: candidates of the lease machine before one modelled store; the term is the fencing token
  --nodes (default 3, at most 60), --seed, --seeds, --json, --csv, --crash as above
  --ttl 2s                 lease duration
  --drain 400ms            from the signal to the deadline; default a fifth of the ttl
  --crash-leader 3s        the leader of that moment crashes; the result is the election after that
  --partition 1,2/3@1s-9s  written out only: the store stands with the greatest side (of equal ones, the last), the others do not reach it; without an end: for 4 ttl
`;

const OPTIONS = {
  nodes: { type: "string", default: "3" },
  seed: { type: "string", default: "1" },
  ttl: { type: "string", default: "2s" },
  drain: { type: "string" },
  crash: { type: "string", multiple: true },
  "crash-leader": { type: "string" },
  partition: { type: "string", multiple: true },
  seeds: { type: "string" },
  csv: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
} as const;

export async function runLease(args: readonly string[]): Promise<number> {
  const { values } = readFlags({ args: [...args], options: OPTIONS, strict: true, allowPositionals: false });
  if (values.help) {
    process.stdout.write(LEASE_HELP);
    return 0;
  }
  if (values.csv && (values.json || values.seeds === undefined))
    throw new RangeError("--csv goes with --seeds, and without --json");
  const nodes = wholeNumber("nodes", values.nodes, 1);
  if (nodes > 60) throw new RangeError(`--nodes ${nodes}: at most 60`);
  const absent = (values.crash ?? []).flatMap((list) => readIds("crash", list, nodes));
  const present = Array.from({ length: nodes }, (_, index) => index + 1).filter((id) => !absent.includes(id));
  if (present.length === 0 && values.seeds !== undefined) throw new RangeError("--crash: nobody is left");
  const ttlMs = parseMs(values.ttl);
  const crashMs = values["crash-leader"] === undefined ? undefined : parseMs(values["crash-leader"]);
  const crashes = crashMs === undefined ? [] : [{ kind: "crash" as const, atMs: crashMs, durationMs: ttlMs * 3 }];
  const cuts = (values.partition ?? []).flatMap((text) => readCuts(text, nodes, present, ttlMs));
  const choices: LeaseChoices = {
    nodes: present.length,
    seed: wholeNumber("seed", values.seed, 0),
    ttlMs,
    drainMs: values.drain === undefined ? ttlMs / 5 : parseMs(values.drain),
    delayMs: [1, 5],
    troubles: [...crashes, ...cuts],
    untilMs: Math.max(
      1,
      ...crashes.map(({ atMs }) => atMs + ttlMs * 2),
      ...cuts.map(({ atMs, durationMs }) => atMs + durationMs + ttlMs),
    ),
  };
  if (values.seeds === undefined) return tellOne(choices, nodes, present, values.json);
  const order = {
    kind: "lease",
    choices,
    fromSeed: choices.seed,
    count: wholeNumber("seeds", values.seeds, 1),
  } as const;
  const { json: isJson, csv: isCsv } = values;
  return tellSamples(order, { name: "lease", nodes, hasVotes: false, isJson, isCsv, args: ["lease", ...args] });
}

/** Candidates talk to the store alone: a candidate that is not on its side does not reach it. */
function readCuts(text: string, nodes: number, present: readonly number[], ttlMs: number): LeaseChoices["troubles"] {
  const { how, fromMs, toMs } = readCut(text, nodes);
  if (!how.includes("/"))
    throw new RangeError(
      `--partition ${how}: write the sides out, as in 1,2/3,4,5; the store stands with the greatest`,
    );
  const sides = how.split("/").map((side) => side.split(",").map(Number));
  const greatest = Math.max(...sides.map(({ length }) => length));
  const reach = sides.findLast(({ length }) => length === greatest) ?? [];
  const cutOff = new Set(sides.flat().filter((id) => present.includes(id) && !reach.includes(id)));
  const durationMs = toMs === undefined ? ttlMs * 4 : toMs - fromMs;
  return [...cutOff].map((id) => ({ kind: "cut", atMs: fromMs, durationMs, node: present.indexOf(id) + 1 }));
}

const NOBODY_UP: ReturnType<typeof electByLease> = {
  leader: 0,
  byType: {},
  token: 0,
  elections: [],
  virtualMs: 0,
  violation: undefined,
  trace: [],
};

/** `present`: the members in the order of the world's candidates. */
function tellOne(choices: LeaseChoices, nodes: number, present: readonly number[], isJson: boolean): number {
  const { leader, byType, token, virtualMs, violation, trace } =
    present.length === 0 ? NOBODY_UP : electByLease(choices);
  const { seed } = choices;
  const total = Object.values(byType).reduce((sum, count) => sum + count, 0);
  const result = {
    protocol: "lease",
    nodes,
    seed,
    leader: present[leader - 1] ?? null,
    term: token,
    messages: { total, byType },
    virtualMs: Number(virtualMs.toFixed(3)),
    violations: violation === undefined ? [] : [violation],
  };
  const told = [
    ...trace.map(formatEvent),
    "",
    `lease, ${nodes} candidates, seed ${seed}`,
    ...(present.length === 0
      ? []
      : [`members       ${present.map((id, index) => `${id} is c${index}`).join(", ")}; c0.1: its first life`]),
    result.leader === null ? "leader        nobody" : `leader        ${result.leader}, token ${token}`,
    `messages      ${total}${total === 0 ? "" : ": "}${Object.entries(byType)
      .map(([type, count]) => `${type} ${count}`)
      .join(", ")}`,
    ...result.violations.map(({ invariant, story }) => `VIOLATION     ${invariant}: ${story}`),
    "",
  ];
  process.stdout.write(isJson ? `${JSON.stringify(result)}\n` : told.join("\n"));
  return violation === undefined ? 0 : 1;
}
