// @ts-check
// A soak on real servers: five candidates as processes, three members of etcd or a PostgreSQL with a synchronous replica, random faults to both, judged from
// outside. Run it for a night. Exit: 0 no two led at once and no stale write was accepted, 1 otherwise, 2 wrong usage.
import { parseArgs } from "node:util";
import { loadTypeScript } from "./load-typescript.mjs";
import { ensurePackages } from "./servers/packages.mjs";

const HELP = `Random faults on real servers and real candidates, judged from outside.

  npm run soak -- [--store etcd|postgres] [--minutes 10] [--seed N] [--json]

  --store NAME     etcd (three members) or postgres (with a synchronous replica, and one failover); default: both, one after the other
  --minutes N      how long, each (default 10); fractions will do
  --seed N         which faults, in which order (default: drawn, and said)
  --sabotage WHAT  forges "overlap" or "stale-write" before it is judged: then it must fail
  --json           one JSON object a line, and nothing else, on stdout

Ctrl-C ends it early, and what has happened is judged. Exit: 0 no two led at once and no stale write was accepted, 1 otherwise, 2 wrong usage.
`;

const exitCode = await main();
if (exitCode !== 0) process.exitCode = exitCode;

async function main() {
  const options = readOptions();
  if (options === undefined) return 2;
  if (options.help === true) {
    process.stdout.write(HELP);
    return 0;
  }
  ensurePackages(["etcd-server", "etcd-client", "postgresql", "faketime"]);
  /** @type {typeof import("../test/soak/soak.ts")} */
  const { soak } = await loadTypeScript("test/soak/soak.ts");
  const seed = options.seed === undefined ? Math.floor(Math.random() * 1_000_000) : Number(options.seed);
  const stop = new AbortController();
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"])) process.once(signal, () => stop.abort());
  const sabotage = /** @type {import("../test/soak/judge.ts").Sabotage | undefined} */ (options.sabotage);
  let failed = false;
  const both = /** @type {const} */ (["etcd", "postgres"]);
  for (const store of both.filter((each) => each === (options.store ?? each))) {
    if (stop.signal.aborted) break;
    const progress = (/** @type {string} */ line) => void process.stderr.write(`${store}, seed ${seed}: ${line}\n`);
    const minutes = Number(options.minutes);
    const report = await soak({ store, minutes, seed, sabotage, signal: stop.signal, progress });
    failed ||= report.findings.length > 0;
    process.stdout.write(options.json === true ? `${JSON.stringify(report)}\n` : summary(report));
  }
  return failed ? 1 : 0;
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        store: { type: "string" },
        minutes: { type: "string", default: "10" },
        seed: { type: "string" },
        sabotage: { type: "string" },
        json: { type: "boolean" },
        help: { type: "boolean" },
      },
      strict: true,
    });
    const { store, minutes, seed, sabotage } = values;
    if (store !== undefined && store !== "etcd" && store !== "postgres") throw new Error(`--store ${store} is neither`);
    if (!(Number(minutes) > 0)) throw new Error(`--minutes ${minutes} is no length of time`);
    if (seed !== undefined && !/^\d{1,9}$/.test(seed)) throw new Error(`--seed ${seed} is not a whole number`);
    if (sabotage !== undefined && sabotage !== "overlap" && sabotage !== "stale-write")
      throw new Error(`--sabotage ${sabotage} is not known`);
    return values;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
    return undefined;
  }
}

/** @param {import("../test/soak/soak.ts").SoakReport} report */
function summary({ store, seed, seconds, faults, terms, writes, refused, findings }) {
  const came = Object.entries(faults)
    .map(([name, count]) => `${count} × ${name}`)
    .join(", ");
  const verdict = findings.length === 0 ? "no two led at once, and no stale write was accepted" : findings.join("\n");
  return `${store}, seed ${seed}: ${seconds} s, ${terms} terms, ${writes} writes accepted, ${refused} refused\n${came}\n${verdict}\n`;
}
