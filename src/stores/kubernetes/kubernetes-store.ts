// One handle on the Leases of a namespace: the six methods of the contract, memos, requests to hand over, and a list of names.
//
// A session is a nonce and the uid of the namespace, and has no record of its own: Leases are renewed one by one, and each names the session that holds it. So a keep without
// holds sends nothing. This handle remembers which sessions it has ended, so that they stay ended here, and what it has last seen of Leases (known.ts).
//
// ARGUMENT for exclusion: every write that makes or keeps a holder names the version and the uid of the Lease that it replaces. That Lease was read to be vacant, to be
// exactly the version that the taker has watched in silence, or to be held by this very bid. So no other write comes between the reading and the writing. A renewal that is on its
// way when the Lease is given back, taken or deleted is refused by its version, however late it arrives.
import { unknown } from "../../base/outcome.ts";
import { Recent } from "../../base/recent.ts";
import type { KubernetesClient } from "../../clients/kubernetes/client.ts";
import { KubernetesError } from "../../clients/kubernetes/errors.ts";
import type { StopSignal } from "../../clients/stop-signal.ts";
import { wallClock } from "../../clients/wall-clock.ts";
import type { Guarantee } from "../../lease/guarantee.ts";
import { isGivenUp, stopSignalOf } from "../call.ts";
import type {
  AskedToLeave,
  Call,
  Claim,
  Claimed,
  FencedStore,
  Hint,
  Hold,
  Invitation,
  Invited,
  KeepsMemos,
  KeepWish,
  Kept,
  ListedNames,
  ListsNames,
  Looked,
  MemosRead,
  MemoWrite,
  MemoWritten,
  Name,
  PassesInvitations,
  Question,
  Refused,
  Released,
  Session,
  SessionSpec,
  Token,
  Unknown,
  Will,
} from "../contract.ts";
import { grantedMs } from "../granted-ttl.ts";
import { Mailboxes } from "../mailbox.ts";
import { memoVersion } from "../memos.ts";
import { LeaseBook } from "./book.ts";
import { LeaseDesk } from "./desk.ts";
import { KUBERNETES } from "./guarantee.ts";
import { KnownLeases } from "./known.ts";
import { currentNote, type Lease, NAME, SESSION } from "./lease.ts";
import { memosOf, memoStep } from "./memos.ts";
import { labelOfSession, leaseNameOf } from "./names.ts";
import { outcomeOf } from "./refusals.ts";
import { askedOf, asking, inviting, claiming, heldIn, releasing, renewing } from "./steps.ts";
import { KubernetesWatcher } from "./watcher.ts";

/** More sessions than one process ends while their requests can still be under way. */
const SESSIONS_REMEMBERED = 1000;
/** More questions than this are answered by one list. */
const QUESTIONS_ONE_BY_ONE = 8;

export interface KubernetesStoreParts {
  readonly client: KubernetesClient;
  readonly namespace: string;
  /** The clock for the times of a Lease, which are for people. */
  readonly now?: (() => Date) | undefined;
  readonly silenceMs?: number | undefined;
}

export class KubernetesStore implements FencedStore, KeepsMemos, ListsNames, PassesInvitations {
  readonly guarantee: Guarantee<"fenced"> = KUBERNETES;
  readonly #client: KubernetesClient;
  readonly #namespace: string;
  readonly #desk: LeaseDesk;
  readonly #known = new KnownLeases();
  readonly #watcher: KubernetesWatcher;
  readonly #book: LeaseBook;
  readonly #now: () => Date;
  readonly #ended = new Recent<string, true>(SESSIONS_REMEMBERED);
  readonly #mailboxes = new Mailboxes();
  /** The uid of the namespace, as the last opening found it. */
  #uid: string | undefined;
  #version: string | undefined;
  /** The last request got no answer of use. */
  #isAway = false;

  constructor({ client, namespace, now = wallClock, silenceMs }: KubernetesStoreParts) {
    this.#client = client;
    this.#namespace = namespace;
    this.#desk = new LeaseDesk(client, namespace);
    this.#watcher = new KubernetesWatcher({ client, desk: this.#desk, known: this.#known, silenceMs });
    this.#book = new LeaseBook(this.#desk, this.#known, this.#watcher);
    this.#now = now;
  }

  // ---- keep

  async keep(session: Session | SessionSpec, holds: readonly Hold[], call: Call, wish: KeepWish = {}): Promise<Kept> {
    if ("nonce" in session) return await this.#with(call, (signal) => this.#open(session, signal));
    if (this.#isOver(session)) return { kind: "session-lost" };
    if (isGivenUp(call)) return unknown(call.signal.reason);
    // A session without a hold has nothing to renew. While the server is away that must not look like an answer of the server: a candidate would be told that it works again.
    if (holds.length === 0 && this.#isAway) {
      const asked = await this.#with(call, async (signal) => ({ uid: await this.#desk.namespaceUid(signal) }));
      if (!("uid" in asked)) return asked;
      if (asked.uid !== uidIn(session.id)) return { kind: "session-lost" };
    }
    const renewals = await Promise.all(holds.map((hold) => this.#renew(session, hold, call)));
    const failed = renewals.filter(
      (renewal): renewal is Refused | Unknown => renewal !== "lost" && !("metadata" in renewal),
    );
    // Nothing was proven: the answer is the reason, and not only that it is unsure.
    if (failed[0] !== undefined && failed.length === holds.length) return failed[0];
    const strays = wish.strays === false ? [] : await this.#straysOf(session, holds, call);
    return { kind: "kept", session: plain(session), ...sorted(holds, renewals), strays };
  }

  async #open({ nonce, candidate, ttlMs }: SessionSpec, signal: StopSignal): Promise<Kept> {
    const [uid, version] = await Promise.all([
      this.#desk.namespaceUid(signal),
      this.#version ?? this.#desk.serverVersion(signal),
    ]);
    this.#uid = uid;
    this.#version ??= version;
    const session = { id: `${nonce}~${uid}`, candidate, ttlMs: grantedMs(ttlMs, this.guarantee.ttl) };
    if (this.#ended.has(session.id)) return { kind: "session-lost" };
    const met = this.#version === undefined ? {} : { met: { server: `Kubernetes ${this.#version}` } };
    return { kind: "kept", session, lost: [], unsure: [], strays: [], ...met };
  }

  /** Whether the session was ended here, or was opened in another namespace, or in one of the same name that is gone. */
  #isOver({ id }: Session): boolean {
    return this.#ended.has(id) || (this.#uid !== undefined && uidIn(id) !== this.#uid);
  }

  async #renew(session: Session, hold: Hold, call: Call): Promise<Lease | "lost" | Refused | Unknown> {
    return await this.#with(call, async (signal) => {
      const renewal = await this.#book.write(hold.name, renewing(session, hold, this.#now), signal);
      return renewal === "lost" ? renewal : renewal.written;
    });
  }

  /** If only this fails, the renewals have been made all the same. */
  async #straysOf(session: Session, holds: readonly Hold[], call: Call): Promise<readonly Hold[]> {
    const known = new Set(holds.map(({ bid }) => bid));
    const found = await this.#with(call, async (signal) => ({ leases: await this.#leasesOf(session, signal) }));
    if (!("leases" in found)) return [];
    return found.leases.filter(({ bid }) => !known.has(bid));
  }

  async #leasesOf(session: Session, signal: StopSignal): Promise<readonly Hold[]> {
    const leases = await this.#labelled(`${SESSION}=${labelOfSession(session.id)}`, signal);
    return leases.flatMap((lease) => {
      const note = currentNote(lease);
      return note?.session === session.id ? [{ name: nameIn(lease), bid: note.bid }] : [];
    });
  }

  /** A Role that is limited by resourceNames allows no list by a label. Then the Leases that this handle has seen are read one by one, so that what it holds is given back. */
  async #labelled(label: string, signal: StopSignal): Promise<readonly Lease[]> {
    try {
      return (await this.#desk.list({ label }, signal)).leases;
    } catch (error) {
      if (!(error instanceof KubernetesError) || error.problem !== "forbidden") throw error;
      const names = [...this.#known.names()];
      const leases = await Promise.all(names.map((name) => this.#desk.get(leaseNameOf(name), signal)));
      return leases.filter((lease) => lease !== undefined);
    }
  }

  // ---- claim, release

  claim(claims: readonly Claim[], call: Call): Promise<readonly Claimed[]> {
    return Promise.all(claims.map((claim) => this.#claim(claim, call)));
  }

  async #claim(claim: Claim, call: Call): Promise<Claimed> {
    const { session, name } = claim;
    if (this.#isOver(session)) return { kind: "session-lost" };
    const step = claiming(claim, { domain: `kubernetes-${uidIn(session.id)}`, known: this.#known, now: this.#now });
    return await this.#with(call, async (signal) => {
      const claimed = await this.#book.write(name, step, signal);
      return "written" in claimed ? { kind: "granted", hold: heldIn(claimed.written, name) } : claimed;
    });
  }

  async release({ session, holds, endSession }: Will, call: Call): Promise<Released> {
    if (endSession) this.#ended.set(session.id, true);
    return await this.#with(call, async (signal) => {
      const all = endSession ? distinct([...holds, ...(await this.#leasesOf(session, signal))]) : holds;
      const give = (hold: Hold): Promise<unknown> =>
        this.#book.write(hold.name, releasing(session, hold, this.#now), signal);
      await Promise.all(all.map(give));
      return { kind: "released" as const };
    });
  }

  // ---- look, watch

  async look(questions: readonly Question[], call: Call): Promise<Looked> {
    return await this.#with(call, async (signal) => {
      const seen = questions.map(({ name }) => this.#watcher.seen(name));
      const asked = questions.filter((_, index) => seen[index] === undefined).map(({ name }) => name);
      const leases = await this.#read([...new Set(asked)], signal);
      const seats = questions.map(({ name }, index) => seen[index] ?? this.#known.seat(name, leases.get(name)));
      return { kind: "seen" as const, seats };
    });
  }

  async #read(names: readonly Name[], signal: StopSignal): Promise<ReadonlyMap<Name, Lease>> {
    const found = new Map<Name, Lease>();
    const note = (name: Name, lease: Lease | undefined): void => void (lease === undefined || found.set(name, lease));
    if (names.length <= QUESTIONS_ONE_BY_ONE) {
      await Promise.all(names.map(async (name) => note(name, await this.#book.read(name, signal))));
      return found;
    }
    const { leases } = await this.#desk.list({}, signal);
    const byName = new Map(leases.map((lease) => [lease.metadata.name, lease]));
    for (const name of names) {
      const lease = byName.get(leaseNameOf(name));
      this.#book.see(name, lease);
      note(name, lease);
    }
    return found;
  }

  watch(questions: readonly Question[], call: Call): AsyncIterable<Hint> {
    return this.#mailboxes.watch(call.signal, (mailbox) => this.#watcher.add(questions, mailbox));
  }

  async listNames(most: number, call: Call): Promise<ListedNames> {
    return await this.#with(call, async (signal) => {
      const { leases } = await this.#desk.list({}, signal);
      const names = leases.map(nameIn).toSorted();
      return { kind: "listed" as const, names: names.slice(0, most), isWhole: names.length <= most };
    });
  }

  // ---- beside elections

  async askToLeave(name: Name, token: Token, call: Call): Promise<AskedToLeave> {
    return await this.#with(call, async (signal): Promise<AskedToLeave> => {
      const asked = await this.#book.write(name, asking(token), signal);
      if (asked !== "not leading") return { kind: "asked" };
      return { kind: "not-leading", seat: this.#known.seat(name, this.#known.get(name)) };
    });
  }

  async invite(name: Name, invitation: Invitation, call: Call): Promise<Invited> {
    return await this.#with(call, async (signal): Promise<Invited> => {
      await this.#book.write(name, inviting(invitation), signal);
      return { kind: "told" };
    });
  }

  async writeMemo(write: MemoWrite, call: Call): Promise<MemoWritten> {
    if (this.#isOver(write.session)) return { kind: "session-lost" };
    return await this.#with(call, async (signal): Promise<MemoWritten> => {
      const answer = await this.#book.write(write.hold.name, (lease) => memoStep(lease, write), signal);
      if (!("written" in answer)) return answer;
      const { token, bid } = write.hold;
      return { kind: "written", version: memoVersion({ value: token?.value ?? 0n, bid }, write.n) };
    });
  }

  async readMemos(name: Name, key: string | undefined, call: Call): Promise<MemosRead> {
    return await this.#with(call, async (signal) => {
      const lease = await this.#book.read(name, signal);
      const memos = lease === undefined ? [] : memosOf(lease);
      return { kind: "memos" as const, memos: memos.filter((memo) => key === undefined || memo.key === key) };
    });
  }

  async close(): Promise<void> {
    this.#mailboxes.endAll();
    this.#client.close();
  }

  async #with<A>(call: Call, ask: (signal: StopSignal) => Promise<A>): Promise<A | Refused | Unknown> {
    if (isGivenUp(call)) return unknown(call.signal.reason);
    try {
      const answer = await ask(stopSignalOf(call));
      this.#isAway = false;
      return answer;
    } catch (error) {
      const outcome = outcomeOf(error, this.#namespace);
      this.#isAway = outcome.kind === "unknown" || outcome.code === "STORE_UNREACHABLE";
      return outcome;
    }
  }
}

/** The uid of the namespace in which a session was opened. */
function uidIn(session: string): string {
  return session.slice(session.lastIndexOf("~") + 1);
}

function nameIn(lease: Lease): Name {
  return lease.metadata.annotations?.[NAME] ?? lease.metadata.name;
}

function distinct(holds: readonly Hold[]): readonly Hold[] {
  return [...new Map(holds.map((hold) => [`${hold.bid} ${hold.name}`, hold])).values()];
}

function plain({ id, candidate, ttlMs }: Session): Session {
  return { id, candidate, ttlMs };
}

function sorted(
  holds: readonly Hold[],
  renewals: readonly (Lease | "lost" | Refused | Unknown)[],
): { readonly lost: readonly Hold[]; readonly unsure: readonly Hold[]; readonly asked: readonly Hold[] } {
  const [lost, unsure, asked]: [Hold[], Hold[], Hold[]] = [[], [], []];
  holds.forEach((hold, index) => {
    const renewal = renewals[index];
    if (renewal === "lost") lost.push(hold);
    else if (renewal === undefined || !("metadata" in renewal)) unsure.push(hold);
    else {
      const request = askedOf(renewal, hold.name);
      if (request !== undefined) asked.push(request);
    }
  });
  return { lost, unsure, asked };
}
