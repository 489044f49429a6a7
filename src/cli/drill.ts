// `conclave drill`: real faults on the store that you use, judged from outside, so that you need not believe its promise. Exits 0 only if no two led at one
// instant and no stale write was accepted.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { withoutPassword } from "../base/url.ts";
import { driverOf } from "../drivers/registry.ts";
import { elect, isFenced, type Reopenable, type Store } from "../index.ts";
import { judgeLog } from "../testing/index.ts";
import { type Context, NO, UsageError, YES } from "./command.ts";
import { Company, NobodyLeads } from "./drill/company.ts";
import { addressesOf, sweepCables, whyNotCut } from "./drill/network.ts";
import { progressOf } from "./drill/progress.ts";
import { type DrillOutcome, summarize, tell } from "./drill/report.ts";
import { type DrillFault, FAULTS, play } from "./drill/rounds.ts";
import { readCount, readDuration, readFlags } from "./flags.ts";
import { chooseStore, onlyLooking, refuseTtl, STORE_HELP } from "./store.ts";

export const help: string = `usage: conclave drill [--store URL] [--rounds N] [--faults LIST] [options]

Starts real candidate processes on your store and causes faults to the one that leads: it is killed, stopped for longer than its ttl in the middle of a write, told to resign, or cut off from the store. Each candidate reads the clock, asks whether it holds the term, and then writes to a resource that compares tokens. The drill judges from outside whether two led at one instant, whether a stale write was accepted, and how long nobody led. It uses an election of its own, and leaves nothing behind but the counter of that name and, in PostgreSQL for a day, the sessions that have ended.

${STORE_HELP}
  --rounds N        how many rounds of each fault (default 10)
  --faults LIST     some of crash,pause,resign,cut (default: all that can be done here; cut needs Linux, root and a store on a network)
  --ttl 3s          the ttl of the candidates
  --candidates N    how many processes, 2 to 20 (default 3)
  --election NAME   the name of the election (default conclave-drill)
  --unfenced        accept a store that has no tokens: its stale writes are accepted, and counted
  --json            {"store", "ttlMs", "rounds", "failoverMs": {"crash": {"min", "median", "p99", "max"}, …}, "ofTtl": the same as ratios to the ttl,
                    "terms", "overlaps", "staleWrites": {"refused", "accepted"}, "writers": [{"id", "sent", "accepted", "refused", "lastToken"}], "problems", "ok"},
                    and of a store without tokens "declared": what it does not promise

Exit codes: 0 no overlap and no stale write accepted, 1 there was one (also where the store declares that there may be), or nobody led in time, 2 the command line was not understood, 3 the drill could not be held, 130 interrupted.
`;

const INTERRUPTED = 130;
const LOOK_EVERY_MS = 100;
const ANSWER_WITHIN_MS = 5_000;

interface Asked {
  readonly store: Store & Reopenable;
  readonly rounds: number;
  readonly faults: readonly DrillFault[];
  readonly ttlMs: number;
  readonly candidates: number;
  readonly election: string;
  readonly isJson: boolean;
  readonly isCut: boolean;
}

export async function run(args: readonly string[], { home }: Context): Promise<number> {
  const asked = await understand(args);
  const stopping = new AbortController();
  const stop = (name: NodeJS.Signals): void =>
    stopping.abort(new DOMException(`told to stop by ${name}`, "AbortError"));
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, stop);
  const folder = mkdtempSync(path.join(tmpdir(), "conclave-drill-"));
  try {
    await refuseCompany(asked, stopping.signal);
    const outcome = await hold(
      asked,
      new URL("./drill/candidate.js", home),
      path.join(folder, "terms.log"),
      stopping.signal,
    );
    const report = summarize(outcome);
    process.stdout.write(asked.isJson ? `${JSON.stringify(report)}\n` : tell(report, !stopping.signal.aborted));
    if (stopping.signal.aborted && report.overlaps === 0 && report.staleWrites.accepted === 0) return INTERRUPTED;
    return report.ok ? YES : NO;
  } finally {
    for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.removeListener(name, stop);
    await asked.store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function understand(args: readonly string[]): Promise<Asked> {
  const text = { type: "string" } as const;
  const flag = { type: "boolean", default: false } as const;
  const options = {
    store: text,
    rounds: text,
    faults: text,
    ttl: text,
    candidates: text,
    election: text,
    unfenced: flag,
    json: flag,
  } as const;
  const { values } = readFlags({ args: [...args], options, allowPositionals: false });
  const candidates = readCount("--candidates", values.candidates ?? "3", 2);
  if (candidates > 20) throw new UsageError(`--candidates ${candidates}: at most 20`);
  const store = (await chooseStore(values.store)) as Store & Partial<Reopenable>;
  const { url } = store;
  if (url === undefined || store.guarantee.scope === "process")
    throw new UsageError("a drill needs a store that several processes can open: --store URL");
  if (!isFenced(store) && !values.unfenced)
    throw new UsageError(
      `${store.guarantee.store} has no tokens: --unfenced accepts that stale writes cannot be refused`,
    );
  const whyNot = whyNotCut(await cutAddresses(store, url));
  const faults = readFaults(values.faults, whyNot);
  const rounds = readCount("--rounds", values.rounds ?? "10", 1);
  const ttlMs = readDuration("--ttl", values.ttl ?? "3s");
  await refuseTtl(store, ttlMs);
  return {
    store: store as Store & Reopenable,
    rounds,
    faults,
    ttlMs,
    candidates,
    election: values.election ?? "conclave-drill",
    isJson: values.json,
    isCut: faults.includes("cut"),
  };
}

/** What a store without tokens does not promise. */
function limitsOf({ guarantee }: Store): readonly string[] | undefined {
  if (guarantee.fencing === "fenced") return undefined;
  return [guarantee.under.processPause, ...guarantee.earlyEnds.map((early) => `two may lead if ${early}.`)];
}

async function cutAddresses(store: Store, url: string): Promise<ReturnType<typeof addressesOf>> {
  if (store.guarantee.scope !== "network") return [];
  const driver = driverOf(url);
  return (await driver?.addresses?.(url)) ?? addressesOf(url, driver?.port);
}

function readFaults(list: string | undefined, whyNotCut: string | undefined): readonly DrillFault[] {
  if (list === undefined) {
    if (whyNotCut !== undefined) process.stderr.write(`conclave drill: without cut: ${whyNotCut}\n`);
    return FAULTS.filter((fault) => fault !== "cut" || whyNotCut === undefined);
  }
  const asked = list.split(",");
  const unknown = asked.filter((each) => !(FAULTS as readonly string[]).includes(each));
  if (unknown.length > 0) throw new UsageError(`--faults ${unknown.join(",")}: of ${FAULTS.join(",")}`);
  if (asked.includes("cut") && whyNotCut !== undefined) throw new UsageError(`--faults cut: ${whyNotCut}`);
  return FAULTS.filter((fault) => asked.includes(fault));
}

/** Two drills in one election would judge each other's candidates. */
async function refuseCompany({ store, election }: Asked, signal: AbortSignal): Promise<void> {
  const leader = await elect(election, onlyLooking(store)).leader();
  if (leader === undefined) return;
  if (store.guarantee.judge === "taker" && (await isSilent(store, election, signal))) return;
  throw new Error(
    `${leader.id} leads "${election}" already: another drill, or not a drill at all. Choose a name with --election.`,
  );
}

/** Where only rivals notice a death, the leader of a drill that was killed is shown for ever. So the leader is watched for its ttl: a living leader renews within that. */
async function isSilent(store: Store, election: string, signal: AbortSignal): Promise<boolean> {
  const first = await seatOf(store, election);
  if (first === undefined) return false;
  process.stderr.write(`conclave drill: somebody led "${election}"; watching whether it still lives\n`);
  const until = performance.now() + (first.ttlMs ?? 0);
  while (performance.now() < until && !signal.aborted) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    if ((await seatOf(store, election))?.version !== first.version) return false;
  }
  return true; // or the drill was told to stop
}

async function seatOf(
  store: Store,
  name: string,
): Promise<{ version: string; ttlMs?: number | undefined } | undefined> {
  const looked = await store.look([{ name }], { signal: AbortSignal.timeout(ANSWER_WITHIN_MS), sentAtMs: 0 });
  return looked.kind === "seen" ? looked.seats[0] : undefined;
}

async function hold(asked: Asked, program: URL, log: string, signal: AbortSignal): Promise<DrillOutcome> {
  const { store, rounds, faults, ttlMs, candidates: size, election } = asked;
  if (asked.isCut) sweepCables();
  const addresses = asked.isCut ? await cutAddresses(store, store.url) : [];
  const composeMs = 150;
  const company = new Company({
    program,
    url: store.url,
    election,
    ttlMs,
    unfenced: true,
    log,
    composeMs,
    size,
    addresses,
  });
  const samples = Object.fromEntries(faults.map((fault) => [fault, [] as number[]])) as Record<DrillFault, number[]>;
  const progress = progressOf(faults.length * rounds, asked.isJson);
  const problems: string[] = [];
  let done = 0;
  try {
    await company.start();
    const pace = { ttlMs, patienceMs: 10 * ttlMs + 30_000, signal };
    for (let round = 1; round <= rounds; round++)
      for (const fault of faults) {
        samples[fault].push(await play(fault, company, pace));
        progress.step(++done, `${fault} ${round}`);
      }
    problems.push(...(await company.compareCounters(pace.patienceMs, signal)));
  } catch (error) {
    if (error instanceof NobodyLeads) problems.push(error.message);
    else if (!signal.aborted) throw error;
  } finally {
    progress.end();
    await company.end(5000, 2 * ttlMs + 2000);
  }
  const judged = judgeLog(readFileSync(log, "utf8"));
  problems.push(
    ...company.resource.problems,
    ...judged.regressions,
    ...judged.unread.map((line) => `unreadable: ${line}`),
  );
  return {
    store: withoutPassword(store.url),
    ttlMs,
    rounds: Math.floor(done / faults.length),
    samples,
    overlaps: judged.overlaps,
    terms: judged.terms,
    staleWrites: { refused: company.resource.staleRefused, accepted: company.resource.staleAccepted },
    writers: company.resource.books,
    problems,
    declared: limitsOf(store),
  };
}
