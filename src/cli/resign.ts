// `conclave resign NAME`: asks the leader of one term to hand over, and waits until that term leads no longer. The request names the token of that term, so
// that it cannot end the next one, however late it arrives. It ends nothing by itself: the leader's work drains first, and only then the store is told.
import { noAnswerTo, noAnswerToRead } from "../base/outcome.ts";
import { ConclaveError, createCandidate, type Election, isConclaveError, type Leader, type Store } from "../index.ts";
import type { AsksToLeave, Call, Holder, Refused, Token, Unknown } from "../stores/contract.ts";
import { NO, UsageError, YES } from "./command.ts";
import { onlyName, readDuration, readFlags } from "./flags.ts";
import { leaderJson, say } from "./leader.ts";
import { chooseStore, missingFile, onlyLooking, STORE_HELP } from "./store.ts";

export const help: string = `usage: conclave resign NAME [--store URL] [--token N] [--timeout 30s] [--json]

Asks the leader of NAME to hand over, and waits until its term leads no longer. The leader's signal aborts, its work drains, and then another candidate leads.
If no other candidate stands, the same one leads again after a pause, with a new token.
The request names one term: the one that leads now, or the one of --token. If the request arrives late, it ends no later term.

${STORE_HELP}
  --token N     only the term with this token; if another leads already, nothing is asked and the exit code is 0
  --timeout 30s
                how long to wait. After that the request stays in the store: a leader that is slow hands over later
  --json        one JSON object: {"election", "outcome", "asked": {"id", "token"} | null, "leader": {"id", "token", "value"} | null}.
                The outcome is one of handed-over, ended-before, still-leads, nobody-leads, no-such-token

This does not work on etcd, ZooKeeper and Redis, which have no place for such a request. Send SIGTERM to the leader's process there.

Exit codes: 0 that term leads no longer, 1 it still leads, or nobody leads, or no term has that token yet,
2 not understood, 3 it could not be asked or found out (the reason is on stderr, with its code).
`;

type Outcome = "handed-over" | "ended-before" | "still-leads" | "nobody-leads" | "no-such-token";

interface Result {
  readonly outcome: Outcome;
  readonly asked?: { readonly id: string; readonly token: bigint } | undefined;
  readonly leader?: Leader | undefined;
}

type AskingStore = Store & AsksToLeave;

const ANSWER_WITHIN_MS = 5000;
const LOOK_EVERY_MS = 100;
/** How long a successor has to show itself before the answer is that nobody leads. */
const SUCCESSOR_WITHIN_MS = 3000;

export async function run(args: readonly string[]): Promise<number> {
  const options = {
    store: { type: "string" },
    token: { type: "string" },
    timeout: { type: "string" },
    json: { type: "boolean" },
  } as const;
  const { values, positionals } = readFlags({ args: [...args], options, allowPositionals: true });
  const name = onlyName(positionals, "NAME");
  const wanted = values.token === undefined ? undefined : readToken(values.token);
  const timeoutMs = readDuration("--timeout", values.timeout ?? "30s");
  const store = await chooseStore(values.store);
  try {
    const result =
      missingFile(store) === undefined
        ? await new ResignRequest(asking(store, name), name, timeoutMs).make(wanted)
        : { outcome: whenVacant(wanted) };
    process.stdout.write(`${values.json === true ? asJson(name, result) : asText(name, result, timeoutMs)}\n`);
    return result.outcome === "handed-over" || result.outcome === "ended-before" ? YES : NO;
  } finally {
    await store.close();
  }
}

function readToken(text: string): bigint {
  if (/^\d{1,20}$/.test(text)) return BigInt(text);
  throw new UsageError(`--token ${text}: a token is a whole number, as conclave leader shows it`);
}

function asking(store: Store & Partial<AsksToLeave>, name: string): AskingStore {
  if (store.askToLeave !== undefined) return store as AskingStore;
  const { store: kind } = store.guarantee;
  const why =
    kind === "etcd"
      ? "its entries are those of Go's candidates, which know no such request"
      : "it has no place for a request";
  throw new ConclaveError(
    "STORE_UNSUPPORTED",
    `the leader of "${name}" cannot be asked through ${kind}: ${why}. Send SIGTERM to the leader's process instead (conclave leader shows its id): it hands over when its work has settled. Or call term.resign() in it.`,
  );
}

function whenVacant(wanted: bigint | undefined): Outcome {
  return wanted === undefined ? "nobody-leads" : "ended-before";
}

/** One request, from the first look to the end of the term that it names. */
class ResignRequest {
  readonly #store: AskingStore;
  readonly #name: string;
  readonly #until: number;
  readonly #election: Election;

  constructor(store: AskingStore, name: string, timeoutMs: number) {
    this.#store = store;
    this.#name = name;
    this.#until = performance.now() + timeoutMs;
    const watcher = createCandidate(onlyLooking(store)); // it never stands for election
    this.#election = watcher.election(name) as unknown as Election;
  }

  async make(wanted: bigint | undefined): Promise<Result> {
    const leader = await this.#election.leader();
    const holder = leader && (await this.#holder());
    if (leader === undefined || holder === undefined) return { outcome: whenVacant(wanted) };
    const token = tokenOf(holder, this.#store);
    if (wanted !== undefined && wanted !== token.value)
      return { outcome: wanted < token.value ? "ended-before" : "no-such-token", leader };
    const asked = { id: holder.candidate, token: token.value };
    if (!(await this.#untilEnded(token)))
      return { outcome: "still-leads", asked, leader: await this.#election.leader() };
    return { outcome: "handed-over", asked, leader: await this.#successor() };
  }

  /** False: the time is up, and that term leads. A request without an answer is sent again: it names the term, so that a second one changes nothing. */
  async #untilEnded(token: Token): Promise<boolean> {
    let isAsked = false;
    let trouble: ConclaveError | undefined;
    for (;;) {
      try {
        if (!isAsked) isAsked = await this.#ask(token);
        trouble = undefined;
        if (!(await this.#leads(token))) return true;
      } catch (error) {
        if (!isConclaveError(error) || !error.retryable) throw error;
        trouble = error;
      }
      if (performance.now() >= this.#until) break;
      await sleep(LOOK_EVERY_MS);
    }
    if (trouble !== undefined) throw trouble;
    return false;
  }

  /** Whether there is nothing more to ask: the store has the request, or that term holds the name no longer. */
  async #ask(token: Token): Promise<boolean> {
    const answer = await this.#store.askToLeave(this.#name, token, this.#call());
    if (answer.kind === "asked" || answer.kind === "not-leading") return true;
    throw errorOf(answer, (cause) => {
      const store = this.#store.guarantee.store;
      return `${store}: ${noAnswerTo("the request to hand over", cause)}. The leader may hear it all the same. To ask again does no harm.`;
    });
  }

  async #leads({ domain, value, bid }: Token): Promise<boolean> {
    const holder = await this.#holder();
    if (holder?.token !== value || holder.domain !== domain || holder.bid !== bid) return false;
    return (await this.#election.leader()) !== undefined; // the holder of the seat may be dead
  }

  async #holder(): Promise<Holder | undefined> {
    const looked = await this.#store.look([{ name: this.#name }], this.#call());
    if (looked.kind !== "seen")
      throw errorOf(looked, (cause) =>
        noAnswerToRead(this.#store.guarantee.store, `the question who leads "${this.#name}"`, cause),
      );
    return looked.seats[0]?.holder;
  }

  async #successor(): Promise<Leader | undefined> {
    const until = performance.now() + SUCCESSOR_WITHIN_MS;
    for (;;) {
      const leader = await this.#election.leader();
      if (leader !== undefined || performance.now() >= until) return leader;
      await sleep(LOOK_EVERY_MS);
    }
  }

  #call(): Call {
    return { signal: AbortSignal.timeout(ANSWER_WITHIN_MS), sentAtMs: performance.now() };
  }
}

function tokenOf({ candidate, token, domain, bid }: Holder, store: Store): Token {
  if (token !== undefined && domain !== undefined && bid !== undefined) return { domain, value: token, bid };
  throw new ConclaveError(
    "STORE_UNSUPPORTED",
    `${store.guarantee.store} does not show which term ${candidate} leads by, so that a request could end the next one. Send SIGTERM to its process instead.`,
  );
}

function errorOf(outcome: Refused | Unknown, whenSilent: (cause: unknown) => string): ConclaveError {
  const { cause } = outcome;
  return outcome.kind === "refused"
    ? new ConclaveError(outcome.code, outcome.message, { retryable: outcome.retryable, cause })
    : new ConclaveError("STORE_TIMEOUT", whenSilent(cause), { cause });
}

function asJson(election: string, { outcome, asked, leader }: Result): string {
  const named = asked === undefined ? null : { id: asked.id, token: `${asked.token}` };
  return JSON.stringify({ election, outcome, asked: named, leader: leaderJson(leader) });
}

function asText(name: string, { outcome, asked, leader }: Result, timeoutMs: number): string {
  const now = say(name, leader);
  switch (outcome) {
    case "handed-over": {
      const again = leader !== undefined && leader.id === asked?.id ? " (again: no other candidate was quicker)" : "";
      return `${asked?.id} has handed over "${name}" (token ${asked?.token}); ${now}${again}`;
    }
    case "still-leads":
      return `${now}: it was asked to hand over, and has not within ${timeoutMs} ms. Its work may still drain, or its version of conclave is older than this request`;
    case "ended-before":
      return `that term of "${name}" leads no longer; ${now}`;
    case "no-such-token":
      return `no term of "${name}" has that token yet; ${now}`;
    case "nobody-leads":
      return now;
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
