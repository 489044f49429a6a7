// One watch of the API server for all callers that watch names at this handle: it watches one Lease while one name is watched, and the whole namespace for more. It begins with a list, so
// that no change is missed, and goes on from the last version it has heard, by an event or a bookmark. Everything that it hears is told at once, renewals too: a waiting candidate sees
// that the holder lives without asking.
//
// The worst case is a watch that hears nothing although something happens: every candidate would wait. Three things end such a watch:
//   - it has been silent for longer than a server's bookmarks allow (client.ts)
//   - a request of our own was answered with a version that the watch has not told a moment later (`compare`)
//   - the server ended it: then it goes on by itself, and begins anew with a list if the server has forgotten where it was (410)
// When it has been quiet for a while (`isFresh`), looks ask the server themselves. So the second rule also works for candidates that only wait.
import type { KubernetesClient } from "../../clients/kubernetes/client.ts";
import type { KubernetesEvent } from "../../clients/kubernetes/event-stream.ts";
import type { Hint, Name, Question, Seat } from "../contract.ts";
import type { Mailbox } from "../mailbox.ts";
import { Watched } from "../watched.ts";
import type { LeaseDesk } from "./desk.ts";
import { ASKED, INVITED, type Lease, readLease, versionNumber } from "./lease.ts";
import type { KnownLeases } from "./known.ts";
import { memoAnnotation } from "./memos.ts";
import { leaseNameOf } from "./names.ts";
import { invitedOf } from "./steps.ts";

/** Servers send a bookmark about once a minute. */
const SILENCE_MS = 100_000;
/** The server ends a watch after this. */
const LASTS_SECONDS = 290;
/** If something was heard within this time, looks need not ask the server. */
const FRESH_MS = 10_000;
/** How long the watch may be behind an answer. */
const LAG_MS = 2_000;
const LIST_WITHIN_MS = 10_000;

export interface KubernetesWatcherParts {
  readonly client: KubernetesClient;
  readonly desk: LeaseDesk;
  readonly known: KnownLeases;
  /** For tests. */
  readonly silenceMs?: number | undefined;
}

interface MemoWatch {
  readonly hint: Hint;
  readonly annotation: string;
  readonly mailbox: Mailbox;
}

export class KubernetesWatcher {
  readonly #parts: KubernetesWatcherParts;
  readonly #watched = new Watched();
  readonly #memos = new Set<MemoWatch>();
  /** Which names are watched, by the names of their Leases. */
  readonly #names = new Map<string, Set<Name>>();
  /** The last invitation that was told for each name, while it is watched. */
  readonly #invited = new Map<Name, string | undefined>();
  #round: Round | undefined;

  constructor(parts: KubernetesWatcherParts) {
    this.#parts = parts;
  }

  /** Returns how to stop. */
  add(questions: readonly Question[], mailbox: Mailbox): () => void {
    const memos = questions.flatMap(({ name, memo }) =>
      memo === undefined ? [] : [{ hint: { name, memo }, annotation: memoAnnotation(memo), mailbox }],
    );
    const names = questions.filter(({ memo }) => memo === undefined).map(({ name }) => name);
    for (const { name } of questions) this.#nameOf(leaseNameOf(name)).add(name);
    for (const memo of memos) this.#memos.add(memo);
    this.#watched.add(names, mailbox);
    if (this.#round?.covers(this.#names.keys()) !== true) this.#begin();
    else if (this.#round.isLive) for (const name of names) mailbox.put({ name, seat: this.#seat(name) });
    return () => {
      for (const memo of memos) this.#memos.delete(memo);
      for (const name of names) this.#watched.remove(name, mailbox);
      for (const { name } of questions) this.#forget(name);
    };
  }

  /** The seat at the name, if the watch has just told it. */
  seen(name: Name): Seat | undefined {
    if (this.#round?.isFresh !== true || !this.#names.has(leaseNameOf(name))) return undefined;
    return this.#parts.known.isForeign(name) ? undefined : this.#seat(name);
  }

  /** A request of ours was answered with this Lease. undefined: there is no such Lease. */
  compare(leaseName: string, name: Name, lease: Lease | undefined): void {
    if (!this.#names.has(leaseName)) return;
    if (lease !== undefined) this.#round?.mustReach(versionNumber(lease));
    else if (this.#parts.known.get(name) !== undefined) this.#round?.mustReach(undefined);
  }

  #nameOf(leaseName: string): Set<Name> {
    const names = this.#names.get(leaseName) ?? new Set();
    this.#names.set(leaseName, names);
    return names;
  }

  #seat(name: Name): Seat {
    const { known } = this.#parts;
    return known.seat(name, known.get(name));
  }

  #forget(name: Name): void {
    const isWatched = this.#watched.has(name) || [...this.#memos].some(({ hint }) => hint.name === name);
    if (isWatched) return;
    this.#invited.delete(name);
    this.#names.delete(leaseNameOf(name));
    if (this.#names.size > 0) return;
    this.#round?.end();
    this.#round = undefined;
  }

  #begin(): void {
    this.#round?.end();
    const [only, another] = [...this.#names.keys()];
    this.#round = new Round(this.#parts, another === undefined ? only : undefined, {
      listed: (leases) => this.#listed(leases),
      hear: (lease, isGone) => this.#hear(lease, isGone),
      broken: () => this.#broken(),
    });
  }

  #broken(): void {
    this.#round = undefined;
    this.#watched.endAll();
    for (const { mailbox } of this.#memos) mailbox.end();
  }

  #listed(leases: readonly Lease[]): void {
    const { known } = this.#parts;
    const byName = new Map(leases.map((lease) => [lease.metadata.name, lease]));
    for (const [leaseName, names] of this.#names) {
      const lease = byName.get(leaseName);
      for (const name of names) {
        if (lease === undefined) known.miss(name);
        else known.see(name, lease);
        this.#invited.set(name, textAt(lease, INVITED));
        this.#watched.tell(name, this.#seat(name));
      }
    }
    for (const { hint, mailbox } of this.#memos) mailbox.put(hint);
  }

  /** Goes by what the watch itself has told, because an answer to a request of this process may have shown it before. An invitation from before the watch began is told to nobody. */
  #tellInvited(name: Name, lease: Lease): void {
    const text = textAt(lease, INVITED);
    if (!this.#invited.has(name) || this.#invited.get(name) === text) return;
    this.#invited.set(name, text);
    const invitation = invitedOf(lease)?.invitation;
    if (invitation !== undefined) this.#watched.tellInvited(name, invitation);
  }

  #hear(lease: Lease, isGone: boolean): void {
    const { known } = this.#parts;
    for (const name of this.#names.get(lease.metadata.name) ?? []) {
      const before = known.get(name);
      if (isGone) known.miss(name);
      else known.see(name, lease);
      const seat = this.#seat(name);
      if (before === undefined || known.seat(name, before).version !== seat.version) this.#watched.tell(name, seat);
      else if (textAt(before, ASKED) !== textAt(lease, ASKED) && textAt(lease, ASKED) !== undefined)
        this.#watched.tellAsked(name);
      this.#tellInvited(name, lease);
      for (const { hint, annotation, mailbox } of this.#memos)
        if (hint.name === name && textAt(before, annotation) !== textAt(lease, annotation)) mailbox.put(hint);
    }
  }
}

function textAt(lease: Lease | undefined, annotation: string): string | undefined {
  return lease?.metadata.annotations?.[annotation];
}

interface Uses {
  listed(leases: readonly Lease[]): void;
  hear(lease: Lease, isGone: boolean): void;
  /** The watch is over, and does not go on by itself. */
  broken(): void;
}

/** One list and the watches that follow it. */
class Round {
  readonly #parts: KubernetesWatcherParts;
  readonly #uses: Uses;
  readonly #only: string | undefined;
  #cancel: () => void = () => {};
  #isOver = false;
  /** Whether the present watch has heard something. */
  #isHeard = false;
  #hasRelisted = false;
  /** How many watches were begun or ended: events of an earlier watch do not count. */
  #watches = 0;
  #heard = 0n;
  #awaited: bigint | undefined;
  #lag: NodeJS.Timeout | undefined;
  #quiet: NodeJS.Timeout | undefined;
  isLive = false;
  isFresh = false;

  constructor(parts: KubernetesWatcherParts, only: string | undefined, uses: Uses) {
    this.#parts = parts;
    this.#only = only;
    this.#uses = uses;
    void this.#list();
  }

  covers(leaseNames: Iterable<string>): boolean {
    return this.#only === undefined || [...leaseNames].every((name) => name === this.#only);
  }

  end(): void {
    this.#isOver = true;
    this.isLive = false;
    this.isFresh = false;
    clearTimeout(this.#lag);
    clearTimeout(this.#quiet);
    this.#cancel();
  }

  /** Within a moment the watch must have told this version; undefined: any later one. */
  mustReach(version: bigint = this.#heard + 1n): void {
    if (!this.isLive || version <= this.#heard) return;
    this.#awaited = this.#awaited === undefined || version > this.#awaited ? version : this.#awaited;
    this.#lag ??= setTimeout(() => this.#break(), LAG_MS).unref();
  }

  async #list(): Promise<void> {
    try {
      const selector = this.#only === undefined ? {} : { name: this.#only };
      const { leases, version } = await this.#parts.desk.list(selector, AbortSignal.timeout(LIST_WITHIN_MS));
      if (this.#isOver) return;
      this.#heard = BigInt(version);
      this.#uses.listed(leases);
      this.#watch();
    } catch {
      // The machine's own requests report the error; the machine begins a watch again.
      this.#break();
    }
  }

  #watch(): void {
    const { client, desk, silenceMs = SILENCE_MS } = this.#parts;
    this.#isHeard = false;
    const watch = ++this.#watches;
    const query = {
      watch: "1",
      allowWatchBookmarks: "true",
      resourceVersion: `${this.#heard}`,
      timeoutSeconds: `${LASTS_SECONDS}`,
      ...(this.#only === undefined ? {} : { fieldSelector: `metadata.name=${this.#only}` }),
    };
    this.#cancel = client.watch(desk.path, query, silenceMs, {
      begun: () => this.#begun(),
      hear: (event) => this.#hear(event),
      over: (error) => {
        if (watch === this.#watches) this.#watchIsOver(error);
      },
    });
  }

  #begun(): void {
    if (this.#isOver) return;
    this.isLive = true;
    this.#freshen();
  }

  #freshen(): void {
    this.isFresh = true;
    if (this.#quiet === undefined) this.#quiet = setTimeout(() => (this.isFresh = false), FRESH_MS).unref();
    else this.#quiet.refresh();
  }

  #hear({ type, object }: KubernetesEvent): void {
    if (this.#isOver) return;
    if (type === "ERROR") return this.#relist();
    this.#isHeard = true;
    this.#hasRelisted = false;
    this.#freshen();
    const version = versionIn(object);
    if (version !== undefined && version > this.#heard) this.#heard = version;
    if (this.#awaited !== undefined && this.#heard >= this.#awaited) this.#caughtUp();
    if (type === "BOOKMARK") return;
    try {
      this.#uses.hear(readLease(object), type === "DELETED");
    } catch {
      this.#break();
    }
  }

  #caughtUp(): void {
    clearTimeout(this.#lag);
    this.#lag = undefined;
    this.#awaited = undefined;
  }

  /** The server has forgotten the version: everything is read anew, once, until something was heard again. */
  #relist(): void {
    this.isLive = false;
    this.isFresh = false;
    this.#caughtUp();
    this.#watches++;
    this.#cancel();
    if (this.#hasRelisted) return this.#break();
    this.#hasRelisted = true;
    return void this.#list();
  }

  /** A server ends every watch from time to time. A watch that has heard nothing is not begun again here: its callers begin it again, after a pause. */
  #watchIsOver(error: unknown): void {
    if (this.#isOver) return;
    this.isLive = false;
    this.isFresh = false;
    if (error === undefined && this.#isHeard) this.#watch();
    else this.#break();
  }

  #break(): void {
    if (this.#isOver) return;
    this.end();
    this.#uses.broken();
  }
}

function versionIn(object: unknown): bigint | undefined {
  const { resourceVersion } =
    ((object ?? {}) as { readonly metadata?: { readonly resourceVersion?: unknown } }).metadata ?? {};
  return typeof resourceVersion === "string" && /^\d{1,20}$/.test(resourceVersion)
    ? BigInt(resourceVersion)
    : undefined;
}
