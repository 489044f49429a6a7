// `conclave stonith fence NODE`: an order to the leader, which carries it out by its own rules or refuses it in words. This command has no power of its own.
import {
  type DecisionOptions,
  decisionOf,
  giveStonithOrder,
  guardedElection,
  openRunner,
  type StoreInTests,
  stonithStatus,
  untilOff,
} from "../../stonith/index.ts";
import { NO, UNKNOWN, YES } from "../command.ts";
import { abortAfter, onlyName, readDuration, readFlags } from "../flags.ts";
import {
  asJson,
  checkNode,
  checkStore,
  COMMON,
  operator,
  type StonithSetup,
  STORE_IN_TESTS,
  storeInTests,
  withSetup,
} from "./setup.ts";
import { powerOf } from "./status.ts";

const OPTIONS = {
  ...COMMON,
  why: { type: "string", default: "no reason was given" },
  wait: { type: "string", default: "2m" },
  "dry-run": { type: "boolean", default: false },
  node: { type: "string" },
  ...STORE_IN_TESTS,
} as const;

export async function fence(args: readonly string[]): Promise<number> {
  const { values, positionals } = readFlags({ args: [...args], options: OPTIONS, allowPositionals: true });
  const node = onlyName(positionals, "NODE");
  const signal = abortAfter(readDuration("--wait", values.wait));
  const { node: from } = values;
  return await withSetup(values, { devices: values["dry-run"] || from !== undefined }, async (setup) => {
    checkNode(setup, node);
    const found = await stonithStatus(setup.candidate, setup.config.election);
    const inTests = storeInTests(values);
    if (from !== undefined && found.leader === undefined) checkNode(setup, from);
    if (values["dry-run"]) return await tellDecision(setup, node, { ...inTests, status: found, from }, values.json);
    const give = (): Promise<number> => order(setup, { node, why: values.why, isJson: values.json }, signal);
    if (from === undefined || found.leader !== undefined) return await give();
    return await asCandidate(setup, from, inTests, give);
  });
}

/** While nobody leads: this process campaigns as a candidate of that node, obeys the order by the rules of a leader, and begins no work. */
async function asCandidate(
  setup: StonithSetup,
  node: string,
  inTests: StoreInTests,
  give: () => Promise<number>,
): Promise<number> {
  const { config, store } = setup;
  const forTests = checkStore(store, inTests);
  const guarded = guardedElection({ config, node, store, shooter: openRunner(setup), ...forTests });
  const given = new AbortController();
  const obeying = guarded.obey(given.signal);
  try {
    return await Promise.race([give(), obeying.then(() => UNKNOWN)]);
  } finally {
    given.abort();
    await guarded.close();
  }
}

async function order(
  { candidate, config: { election } }: StonithSetup,
  { node, why, isJson }: { readonly node: string; readonly why: string; readonly isJson: boolean },
  signal: AbortSignal,
): Promise<number> {
  process.stderr.write(
    "conclave stonith: the order is given; waiting for the leader to obey it (--wait says how long)\n",
  );
  const answer = await giveStonithOrder(candidate, election, { kind: "fence", node, why, by: operator() }, signal);
  if (answer === undefined) {
    process.stderr.write(
      "conclave stonith: no leader has answered in time. A leader that comes soon obeys the order still; --node NODE campaigns from here. conclave stonith status shows who leads.\n",
    );
    return UNKNOWN;
  }
  if (!answer.isDone) {
    process.stdout.write(isJson ? asJson({ ...answer, off: null }) : `${node} is not shot: ${answer.said}\n`);
    return NO;
  }
  if (!isJson) process.stderr.write(`${answer.said}\n`);
  const off = await untilOff(candidate, election, node, signal);
  process.stdout.write(isJson ? asJson({ ...answer, off: off ?? null }) : `${toldOf(node, off)}\n`);
  return off === undefined ? NO : YES;
}

function toldOf(node: string, off: Awaited<ReturnType<typeof untilOff>>): string {
  if (off !== undefined)
    return `${node} is off: ${off.by === "human" ? "a human has confirmed it" : `its ${off.by} says so`}`;
  return `${node} is not verified to be off. The leader goes on trying, and nothing is taken over until it is, or until a human says so: conclave stonith confirm ${node}`;
}

async function tellDecision(
  setup: StonithSetup,
  node: string,
  asked: Omit<DecisionOptions, "config" | "store" | "power">,
  isJson: boolean,
): Promise<number> {
  const { config, store } = setup;
  const power = (await powerOf(setup))[node];
  const decision = await decisionOf(node, { ...asked, config, store, power });
  const reasons = decision.reasons.map((reason) => `  - ${reason}`);
  const said = [`${node} would ${decision.isAllowed ? "" : "NOT "}be shot:`, ...reasons, ""].join("\n");
  process.stdout.write(isJson ? asJson({ ...decision, power }) : said);
  return decision.isAllowed ? YES : NO;
}
