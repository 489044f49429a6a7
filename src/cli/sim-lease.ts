// `conclave sim lease`: an election by lease, in the form of the other protocols. Requests to the store and its answers are the messages; the term is
// the fencing token.
import { parseArgs } from "node:util";
import { electByLease, formatLine, parseIds, parseMs } from "../simulator/index.ts";

export const LEASE_HELP: string = `lease: candidates of the lease machine before one modelled store; the term is the fencing token
  --nodes, --seed, --json, --crash as above
  --ttl 2s                 lease duration
  --drain 400ms            from the signal to the deadline; default a fifth of the ttl
  --crash-leader 3s        whoever leads then crashes; the result is the election after that
`;

const OPTIONS = {
  nodes: { type: "string", default: "3" },
  seed: { type: "string", default: "1" },
  ttl: { type: "string", default: "2s" },
  drain: { type: "string" },
  crash: { type: "string" },
  "crash-leader": { type: "string" },
  json: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
} as const;

export function runLease(args: readonly string[]): number {
  const { values } = parseArgs({ args: [...args], options: OPTIONS, strict: true, allowPositionals: false });
  if (values.help) {
    process.stdout.write(LEASE_HELP);
    return 0;
  }
  const [nodes, seed, ttlMs] = [Number(values.nodes), Number(values.seed), parseMs(values.ttl)];
  if (!Number.isSafeInteger(nodes) || nodes < 1 || nodes > 60) throw new RangeError(`--nodes ${values.nodes}: 1…60`);
  if (!Number.isSafeInteger(seed) || seed < 0) throw new RangeError(`--seed ${values.seed}: a whole number is needed`);
  const absent = values.crash === undefined ? [] : parseIds(values.crash);
  const present = Array.from({ length: nodes }, (_, index) => index + 1).filter((id) => !absent.includes(id));
  if (present.length === 0) throw new RangeError("--crash: nobody is left");
  const crashMs = values["crash-leader"] === undefined ? undefined : parseMs(values["crash-leader"]);
  const election = electByLease({
    nodes: present.length,
    seed,
    ttlMs,
    drainMs: values.drain === undefined ? ttlMs / 5 : parseMs(values.drain),
    delayMs: [1, 5],
    troubles: crashMs === undefined ? [] : [{ kind: "crash", atMs: crashMs, durationMs: ttlMs * 3 }],
    untilMs: crashMs === undefined ? 1 : crashMs + ttlMs * 2,
  });
  const { byType, token, virtualMs, violation, lines } = election;
  const total = Object.values(byType).reduce((sum, count) => sum + count, 0);
  const result = {
    protocol: "lease",
    nodes,
    seed,
    leader: present[election.leader - 1] ?? null,
    term: token,
    messages: { total, byType },
    virtualMs: Number(virtualMs.toFixed(3)),
    violations: violation === undefined ? [] : [violation],
  };
  const told = [
    ...lines.map(formatLine),
    "",
    `lease, ${nodes} candidates, seed ${seed}`,
    `leader        ${String(result.leader)}, token ${token}`,
    `messages      ${total}`,
    "",
  ];
  process.stdout.write(values.json ? `${JSON.stringify(result)}\n` : told.join("\n"));
  return violation === undefined ? 0 : 1;
}
