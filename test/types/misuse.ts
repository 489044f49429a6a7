// Misuse that must not compile, and use that must. Never run, only compiled: by TypeScript 7.0 and by 5.9. Each directive carries a claim; if the
// line below it starts to compile, the compiler reports the directive as unused. test/types/misuse.test.ts counts them, and shows that they notice
// when an unfenced term is given a token.
import {
  type Candidate,
  type CandidateOptions,
  type ConclaveEvent,
  createCandidate,
  elect,
  type Election,
  type Fenced,
  type FencedStore,
  type Term,
  type FencingToken,
  formatToken,
  isConclaveError,
  openStore,
  type Permit,
  requireFenced,
  semaphore,
  type Store,
  type UnfencedTerm,
  type TermOf,
  type TermState,
  type UnfencedStore,
} from "conclave";
import { type LogNode, type ProtocolNode, raftElection } from "conclave/protocols";
import { type NodeZooKeeperClient, zookeeper } from "conclave/stores/zookeeper";

declare const tokens: FencedStore;
declare const noTokens: UnfencedStore;
declare const ledger: {
  append(row: string, by: Fenced): Promise<void>;
  appendWith(token: FencingToken): Promise<void>;
};
declare const error: unknown;

const fenced = elect("x", { store: tokens });
const unfenced = elect("x", { store: noTokens, unfenced: true });
const candidate = createCandidate({ store: tokens });
const weakCandidate = createCandidate({ store: noTokens, unfenced: true });

// ---- the store and the options -------------------------------------------------------------------------------------------------------

// @ts-expect-error a store without tokens must be accepted in words
elect("x", { store: noTokens });
// @ts-expect-error and not by a word that says the opposite
elect("x", { store: noTokens, unfenced: false });
// @ts-expect-error a store with tokens needs no such word
elect("x", { store: tokens, unfenced: true });
// @ts-expect-error a store known only at run time counts as one without tokens until it is asked (requireFenced)
elect("x", { store: await openStore("memory:") });
// @ts-expect-error opening a store is awaited
elect("x", { store: openStore("memory:"), unfenced: true });
// @ts-expect-error a URL is not a store; openStore makes one of it
elect("x", { store: "memory:" });
// @ts-expect-error there is no default store
elect("x", { ttlMs: 10_000 });
// @ts-expect-error an election has a name
elect({ store: tokens });
// @ts-expect-error a duration says its unit: ttlMs
elect("x", { store: tokens, ttl: 10_000 });
// @ts-expect-error a misspelt option is found, not ignored
elect("x", { store: tokens, drainMS: 2_000 });
// @ts-expect-error a duration is a number of milliseconds, not text
elect("x", { store: tokens, ttlMs: "10s" });
// @ts-expect-error renewal is by timers or by hand
elect("x", { store: tokens, renewal: "always" });
// @ts-expect-error overstaying is reported, or ends the process, or calls a function
elect("x", { store: tokens, onOverstay: "kill" });
// @ts-expect-error a lock waits for milliseconds, by the name of waitMs
await candidate.withLock("x", async () => {}, { timeoutMs: 100 });

// ---- a term without a token ----------------------------------------------------------------------------------------------------------

await unfenced.lead(async (term) => {
  // @ts-expect-error an unfenced term has no token
  void term.token;
  // @ts-expect-error so nobody can say that another is to lead after it
  await term.transfer("web-2");
  // @ts-expect-error so it does not enter a fenced write
  await ledger.append("row", term);
  // @ts-expect-error nor does it pass for a term that has one
  const better: Term = term;
  void better;
});
// @ts-expect-error a helper that needs a token cannot be given to an unfenced election
await unfenced.lead(async (term: Term) => ledger.append("row", term));
// @ts-expect-error nor to the lock of an unfenced candidate
await weakCandidate.withLock("x", async (term: Term) => ledger.append("row", term));
// @ts-expect-error what is won by campaign() has none either
formatToken((await unfenced.campaign()).token);
// @ts-expect-error an unfenced election does not pass for a fenced one
const election: Election = unfenced;
// @ts-expect-error nor an unfenced candidate for a fenced one
const standing: Candidate = weakCandidate;
// @ts-expect-error and a wrapper cannot lose the word on the way
forRoot({ store: noTokens });

// ---- a permit of a semaphore ---------------------------------------------------------------------------------------------------------

const workers = semaphore("x", { store: tokens, permits: 3, unfenced: true });
// @ts-expect-error that a permit fences nothing is said on a store with tokens too
semaphore("x", { store: tokens, permits: 3 });
// @ts-expect-error how many may hold one has no default
semaphore("x", { store: tokens, unfenced: true });
await workers.lead(async (permit) => {
  // @ts-expect-error a permit has no token, whatever the store gives
  void permit.token;
  // @ts-expect-error so a guard does not accept it
  await ledger.append("row", permit);
  // @ts-expect-error and it does not pass for a term that has a token
  const better: Term = permit;
  void better;
  // @ts-expect-error what one of n has written is nothing that the next of n could go on from
  await permit.memo("done", "1");
  await fetch("http://127.0.0.1", { signal: permit.signal });
});
// @ts-expect-error a helper that needs a token cannot be given to a semaphore
await workers.lead(async (term: Term) => ledger.append("row", term));
// @ts-expect-error n leaders are not one election
const oneOfThem: Election = workers;
// @ts-expect-error who holds a permit is shown without a number that could be taken for a token
void (await workers.holders())[0]?.token;
const oneOfMany: Permit = await workers.campaign();

// ---- tokens --------------------------------------------------------------------------------------------------------------------------

// @ts-expect-error a number is not a token: which domain, which bid?
await ledger.appendWith(7n);
// @ts-expect-error nor is an object that looks like one; tokens come from a store, or from parseToken
await ledger.appendWith({ domain: "d", value: 7n, bid: "b" });
// @ts-expect-error nor is its text: parseToken reads that
await ledger.appendWith("d:7:b");
// @ts-expect-error what leader() shows is a hint, and its number no token
formatToken((await fenced.leader())?.token);

// ---- work and terms ------------------------------------------------------------------------------------------------------------------

// @ts-expect-error work that starts something and returns nothing would resign at once
await fenced.lead(() => void setInterval(() => {}, 1_000));
// @ts-expect-error a campaign takes time: await it
const early: Term = fenced.campaign();
// @ts-expect-error tryCampaign may come back with nothing
void (await fenced.tryCampaign()).token;
// @ts-expect-error term() may come back with nothing
void fenced.term().signal;
// @ts-expect-error a promise is always truthy: await tryCampaign before asking
// oxlint-disable-next-line typescript/no-misused-promises -- the linter sees it too
if (fenced.tryCampaign()) console.log("leads");

function forgetsToCall(term: UnfencedTerm): void {
  // @ts-expect-error a function is always truthy: call isHeld
  if (term.isHeld) console.log("held");
  // @ts-expect-error what changes by itself is a method, so there is no `held` to narrow
  if (term.held) console.log("held");
  // @ts-expect-error a signal cannot be put in place of the term's own
  term.signal = AbortSignal.timeout(1_000);
  // @ts-expect-error there is no such state
  if (term.state() === "leading") console.log("leading");
}

// ---- events and errors ---------------------------------------------------------------------------------------------------------------

candidate.subscribe((event) => {
  // @ts-expect-error there is no such event
  if (event.type === "losing") console.log(event);
  // @ts-expect-error a session has no reason; only what was narrowed to can be read
  if (event.type === "session") console.log(event.reason);
});
function describeEvent(event: ConclaveEvent): string {
  switch (event.type) {
    case "elected":
      return `token ${event.token?.value}`;
    // @ts-expect-error a misspelt case is found
    case "ellected":
      return "never";
    case "error":
      return event.error.code;
    case "session":
      return event.state;
    case "recovered":
    case "warning":
      return event.code;
    case "renewed":
      return `${event.roundTripMs} ms`;
    case "standing":
    case "waiting":
    case "state":
    case "lost":
    case "overstayed":
    case "settled":
    case "released":
    case "handed-back":
    case "leader":
    case "schedule":
      return event.election;
  }
}
// @ts-expect-error there is no such code
if (isConclaveError(error) && error.code === "TERM_LOOSE") console.log(error.retryable);

// ---- drivers -------------------------------------------------------------------------------------------------------------------------

declare const driver: FencedStore;
// @ts-expect-error an outcome is never a boolean: done, not done and unknown are three
const booleanKeep: Store["keep"] = async () => true;
// @ts-expect-error a keep that says nothing of strays and lost holds has not been finished
const thinKeep: Store["keep"] = async (session) => ({ kind: "kept", session });
// @ts-expect-error claims are answered one by one, in their order
const oneClaim: Store["claim"] = async () => ({ kind: "session-lost" });
// @ts-expect-error "not found" is a seat with a version, not undefined
const noSeat: Store["look"] = async () => undefined;
// @ts-expect-error a version is made on purpose: any string would compare
const plainVersion: Store["look"] = async () => ({
  kind: "seen",
  seats: [{ name: "x", version: "1", state: "vacant" }],
});
// @ts-expect-error what a driver declares is its type
const promoted: FencedStore = { ...noTokens };
// @ts-expect-error and a store with tokens is not one without
const demoted: UnfencedStore = { ...driver };
// @ts-expect-error six methods, and release is one of them
const five: Store = { ...driver, release: undefined };
// @ts-expect-error every call says when it was sent and how to give up
await driver.look([{ name: "x" }]);

// ---- and what must compile -----------------------------------------------------------------------------------------------------------

/** A helper that does not care is written once. */
async function either(term: UnfencedTerm): Promise<void> {
  await fetch("http://127.0.0.1", { signal: term.signal });
}
await unfenced.lead(either);
await fenced.lead(either);
await fenced.lead(async (term) => {
  await ledger.append("row", term);
  await ledger.appendWith(term.token);
});
const answer: number | undefined = await fenced.lead(async () => 42);
const locked: string = await weakCandidate.withLock("x", async (term) => term.candidate, { waitMs: 100 });
const weaker: Election<UnfencedTerm> = fenced;
const weakerCandidate: Candidate<UnfencedTerm> = candidate;
void createCandidate({ store: tokens, ttlMs: undefined, id: process.env["POD_NAME"] });

/** Methods are not narrowed across await, so asking again is not dead code. */
async function asksAgain(term: UnfencedTerm): Promise<TermState> {
  if (term.state() !== "safe") return term.state();
  await Promise.resolve();
  if (term.state() === "lost") return "lost";
  return term.isHeld() ? term.state() : "lost";
}

/** What a framework's module does. */
function forRoot<S extends Store>(options: CandidateOptions<S>): Candidate<TermOf<S>> {
  return createCandidate(options);
}
await forRoot({ store: tokens })
  .election("x")
  .lead(async (term) => ledger.append("row", term));

/** A store known only at run time, asked once. */
async function fromEnvironment(url: string): Promise<void> {
  const store = await openStore(url);
  requireFenced(store);
  await elect("x", { store }).lead(async (term) => ledger.append("row", term));
}

// ---- protocols -----------------------------------------------------------------------------------------------------------------------

declare const logged: LogNode;
declare const raft: ReturnType<typeof raftElection.create>;
declare const raftEffects: Parameters<typeof raftElection.command>[3];
declare function runElections(node: ProtocolNode): void;
// @ts-expect-error a host that applies nothing does not run a node with a log
runElections(logged);
// @ts-expect-error a transfer says to whom
raftElection.command(raft, { type: "transfer" }, 0, raftEffects);
raftElection.command(raft, { type: "transfer", to: 2 }, 0, raftEffects);
runElections(raftElection);

export {
  answer,
  asksAgain,
  booleanKeep,
  demoted,
  describeEvent,
  early,
  election,
  five,
  forgetsToCall,
  fromEnvironment,
  oneOfMany,
  oneOfThem,
};
export { locked, noSeat, oneClaim, plainVersion, promoted, standing, thinKeep, weaker, weakerCandidate };

// ---- clients -----------------------------------------------------------------------------------------------------------------------------

declare const zooKeeperClient: NodeZooKeeperClient;

zookeeper(zooKeeperClient, { tickMs: 500 });
// @ts-expect-error a client of the package zookeeper does not show its user
zookeeper({ config: { connect: "h1:2181" }, add_auth: () => {} });
// @ts-expect-error one client names a whole ensemble: a list of them is nothing
zookeeper([zooKeeperClient]);
