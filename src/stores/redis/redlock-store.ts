// Redlock: the six methods of the contract over several independent servers, each of which is a store of its own. A majority decides (majority.ts).
//
// Deadlines are counted from before the first send, because the machine dates a call before it calls: a server that answers late, or is asked last, does not change that. What a
// claim got without a majority is taken back in the same call. A server that has started again votes for nobody before every lease from before its start has run out (lua/shared.lua, `isTooYoung`).
// Each record is renewed by itself (`per-hold`): a majority that renewed the session need not be the majority that has the seat.
import { type Refused, unknown, type Unknown } from "../../base/outcome.ts";
import type { Guarantee } from "../../lease/guarantee.ts";
import {
  asVersion,
  type Call,
  type Claim,
  type Claimed,
  type Hint,
  type Hold,
  type KeepWish,
  type Kept,
  type ListedNames,
  type ListsNames,
  type Looked,
  type Question,
  type Released,
  type Seat,
  type Session,
  type SessionSpec,
  type UnfencedStore,
  VACANT,
  type Will,
} from "../contract.ts";
import { isGivenUp, whenGivenUp } from "../call.ts";
import { Mailboxes } from "../mailbox.ts";
import {
  answerUngranted,
  decideClaim,
  decideFailure,
  decideKept,
  majorityOf,
  seatOf,
  type Votes,
  versionAt,
} from "./majority.ts";

/** By the caller's clock: if a server has not answered for longer than this when it is asked again, it is asked on a new connection. */
const ANSWER_WITHIN_MS = 10_000;

type OneStore = UnfencedStore & ListsNames;

export class RedlockStore implements UnfencedStore, ListsNames {
  readonly guarantee: Guarantee<"unfenced">;
  readonly #stores: readonly OneStore[];
  readonly #mailboxes = new Mailboxes();
  /** The requests that each server has not answered yet, and when they were sent. */
  readonly #unanswered: readonly Map<AbortController, number>[];

  constructor(stores: readonly OneStore[], guarantee: Guarantee<"unfenced">) {
    this.guarantee = guarantee;
    this.#stores = stores;
    this.#unanswered = stores.map(() => new Map());
  }

  keep(session: Session | SessionSpec, holds: readonly Hold[], call: Call, wish?: KeepWish): Promise<Kept> {
    return this.#poll<Kept, Kept>(
      manyEars(call),
      (store, _, own) => store.keep(session, holds, own, wish),
      unknown,
      (votes) => decideKept(votes, holds),
    );
  }

  /** One request to each server, whatever the number of claims; each claim is decided for itself. */
  async claim(claims: readonly Claim[], call: Call): Promise<readonly Claimed[]> {
    const heard = manyEars(call);
    const ballots = await this.#poll<readonly Claimed[], readonly Ballot[]>(
      heard,
      (store, server, own) =>
        store.claim(
          claims.map((claim) => claimAt(claim, server)),
          own,
        ),
      (error) => claims.map(() => unknown(error)),
      (answers) => {
        const all = claims.map((claim, index) =>
          ballotOf(
            claim,
            answers.map((answer) => answer?.[index]),
          ),
        );
        return all.some((ballot) => ballot === undefined) ? undefined : (all as readonly Ballot[]);
      },
    );
    const back = await this.#takeBack(ballots, heard);
    return ballots.map((ballot, index) => answerOf(ballot, back[index] === true));
  }

  /**
   * Takes back what was not granted by a majority, also where no answer came: on the same connection a release comes after its claim. Returns for each claim whether it is certain that its
   * bid has no majority any more.
   */
  async #takeBack(ballots: readonly Ballot[], call: Call): Promise<readonly boolean[]> {
    const losing = ballots.filter(({ decided, votes }) => decided !== "granted" && votes.some(mayStand));
    if (losing.length === 0) return ballots.map(() => true);
    const isBack = (answers: Votes<Released>): boolean =>
      answers.filter((answer) => answer?.kind !== "released").length < majorityOf(answers.length);
    const isWaited = (answers: Votes<Released>): boolean =>
      answers.some(
        (answer, server) => answer === undefined && losing.some(({ votes }) => votes[server]?.kind === "granted"),
      );
    const isSure = await this.#poll<Released, boolean>(
      call,
      (store, server, own) =>
        releaseAll(
          store,
          losing.filter(({ votes }) => mayStand(votes[server])),
          own,
        ),
      unknown,
      (answers) => {
        if (isBack(answers) && !isWaited(answers)) return true;
        return answers.includes(undefined) ? undefined : isBack(answers);
      },
    );
    return ballots.map((ballot) => isSure || !losing.includes(ballot));
  }

  /** Resolves as soon as no majority can be left. The other servers are told too, and are not waited for. */
  release(will: Will, call: Call): Promise<Released> {
    return this.#poll<Released, Released>(
      manyEars(call),
      (store, _, own) => store.release(will, own),
      unknown,
      (votes) => {
        const left = votes.filter((vote) => vote?.kind !== "released").length;
        if (left < majorityOf(votes.length)) return { kind: "released" };
        return decideFailure(votes, (vote) => vote.kind === "released") as Refused | Unknown | undefined;
      },
    );
  }

  look(questions: readonly Question[], call: Call): Promise<Looked> {
    return this.#poll<Looked, Looked>(
      manyEars(call),
      (store, _, own) => store.look(questions, own),
      unknown,
      (votes) => {
        const seen = votes.filter((vote) => vote?.kind === "seen").length;
        if (seen < majorityOf(votes.length) || (votes.includes(undefined) && !agree(votes)))
          return decideFailure(votes, (vote) => vote.kind === "seen") as Refused | Unknown | undefined;
        return {
          kind: "seen",
          seats: questions.map(({ name }, index) =>
            seatOf(
              name,
              votes.map((vote) => seatIn(vote, index)),
            ),
          ),
        };
      },
    );
  }

  /** The names that any server of a majority knows. */
  listNames(most: number, call: Call): Promise<ListedNames> {
    return this.#poll<ListedNames, ListedNames>(
      manyEars(call),
      (store, _, own) => store.listNames(most, own),
      unknown,
      (votes) => {
        const listed = votes.flatMap((vote) => (vote?.kind === "listed" ? [vote] : []));
        if (listed.length < majorityOf(votes.length))
          return decideFailure(votes, (vote) => vote.kind === "listed") as Refused | Unknown | undefined;
        const names = [...new Set(listed.flatMap((each) => each.names))].toSorted();
        const isWhole = names.length <= most && listed.every((each) => each.isWhole);
        return { kind: "listed", names: names.slice(0, most), isWhole };
      },
    );
  }

  /** A hint of one server is worth a look at all of them. */
  watch(questions: readonly Question[], call: Call): AsyncIterable<Hint> {
    return this.#mailboxes.watch(call.signal, (mailbox) => {
      const stopping = new AbortController();
      for (const store of this.#stores)
        void (async () => {
          for await (const { name } of store.watch(questions, { signal: stopping.signal, sentAtMs: call.sentAtMs }))
            mailbox.put({ name });
        })().catch(() => {}); // the other servers send hints, and the machine looks by itself
      return () => stopping.abort();
    });
  }

  async close(): Promise<void> {
    this.#mailboxes.endAll();
    await Promise.all(this.#stores.map((store) => store.close()));
  }

  // ---- one request to all

  /** Asks every server at once, and answers as soon as `decide` does. It is asked after each answer, and must have decided when all have answered. */
  #poll<A extends object, D>(
    call: Call,
    ask: (store: OneStore, server: number, own: Call) => Promise<A>,
    failed: (error: unknown) => A,
    decide: (votes: Votes<A>) => D | undefined,
  ): Promise<D> {
    return new Promise((resolve, reject) => {
      const votes: (A | undefined)[] = this.#stores.map(() => undefined);
      const own = this.#stores.map((_, server) => this.#begin(server, call.sentAtMs));
      const giveUp = (): void => own.forEach((each) => each.abort(call.signal.reason));
      call.signal.addEventListener("abort", giveUp, { once: true });
      if (call.signal.aborted) giveUp();
      this.#stores.forEach((store, server) => {
        const controller = own[server] as AbortController;
        void ask(store, server, { signal: controller.signal, sentAtMs: call.sentAtMs })
          .catch(failed)
          .then((vote) => {
            this.#unanswered[server]?.delete(controller);
            votes[server] = vote;
            if (!votes.includes(undefined)) call.signal.removeEventListener("abort", giveUp);
            const decision = decide(votes);
            if (decision !== undefined) resolve(decision);
            else if (!votes.includes(undefined)) reject(new Error("redis: the servers' answers were not understood"));
          })
          .catch(reject);
      });
    });
  }

  /** A silent server must not collect requests for ever: old ones are given up, and with them the connection. */
  #begin(server: number, sentAtMs: number): AbortController {
    const unanswered = this.#unanswered[server] ?? new Map<AbortController, number>();
    for (const [each, sentAt] of unanswered)
      if (sentAt < sentAtMs - ANSWER_WITHIN_MS) each.abort(new Error("the server does not answer"));
    const controller = new AbortController();
    unanswered.set(controller, sentAtMs);
    return controller;
  }
}

interface Ballot {
  readonly claim: Claim;
  readonly decided: "granted" | "not" | "unsure";
  readonly votes: Votes<Claimed>;
}

function ballotOf(claim: Claim, votes: Votes<Claimed>): Ballot | undefined {
  const decided = decideClaim(votes);
  return decided === undefined ? undefined : { claim, decided, votes };
}

/** Whether the server may have given this bid its seat. */
function mayStand(vote: Claimed | undefined): boolean {
  return vote === undefined || vote.kind === "granted" || vote.kind === "unknown";
}

function answerOf({ claim: { name, bid }, decided, votes }: Ballot, isBack: boolean): Claimed {
  if (decided === "granted") return { kind: "granted", hold: { name, bid } };
  if (decided === "unsure" && !isBack)
    return unknown(new Error(`redis: too few servers have answered a claim for "${name}"`));
  return answerUngranted(votes, seatOf(name, votes.map(seatShown)));
}

/** The claims of one call may be of several sessions. */
async function releaseAll(store: UnfencedStore, ballots: readonly Ballot[], call: Call): Promise<Released> {
  const sessions = new Map(ballots.map(({ claim }) => [claim.session.id, claim.session]));
  const answers = await Promise.all(
    [...sessions.values()].map((session) => {
      const holds = ballots.flatMap(({ claim }) => (claim.session.id === session.id ? [claim] : []));
      return store.release({ session, holds, endSession: false }, call);
    }),
  );
  return answers.find(({ kind }) => kind !== "released") ?? { kind: "released" };
}

/** A call has one listener, but several requests here have to learn that nobody waits any more. */
function manyEars(call: Call): Call {
  if (call.whenGivenUp === undefined) return call;
  const controller = new AbortController();
  if (isGivenUp(call)) controller.abort(call.signal.reason);
  else whenGivenUp(call, () => controller.abort(call.signal.reason));
  return { signal: controller.signal, sentAtMs: call.sentAtMs };
}

/** The claim over the version that this server showed. A server that showed none may give its seat if it is vacant. */
function claimAt(claim: Claim, server: number): Claim {
  if (claim.over === undefined || claim.over === VACANT) return claim;
  const over = versionAt(claim.over, server);
  return { ...claim, over: over === undefined ? VACANT : asVersion(over) };
}

/** After it was taken back, a granted seat is vacant. */
function seatShown(vote: Claimed | undefined): Seat | undefined {
  if (vote?.kind === "beaten") return vote.seat;
  return vote?.kind === "granted"
    ? { name: vote.hold.name, version: asVersion("taken back"), state: "vacant" }
    : undefined;
}

function seatIn(vote: Looked | undefined, index: number): Seat | undefined {
  return vote?.kind === "seen" ? vote.seats[index] : undefined;
}

/** Whether those that have answered show the same holders, so that the others cannot change what a majority shows. */
function agree(votes: Votes<Looked>): boolean {
  const shown = votes.flatMap((vote) =>
    vote?.kind === "seen"
      ? [vote.seats.map(({ state, holder }) => `${state} ${holder?.bid ?? holder?.candidate}`).join("\n")]
      : [],
  );
  return new Set(shown).size === 1;
}
