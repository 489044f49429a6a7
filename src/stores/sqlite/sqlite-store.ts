// One handle on a database file: the six methods of the contract around the shelf (shelf.ts). A call is applied at once, in this thread. Only the question
// whether a holder's process lives has to wait for an answer. The file is opened at the first call, and again after `close`.
//
// A file that was replaced: before each call, the store asks whether the path still leads to the open file. If not, every session that was opened through this handle is lost for good, the next
//   call says why, and the one after that opens the file that is at the path now.
import { type Refused, unknown, type Unknown } from "../../base/outcome.ts";
import { Recent } from "../../base/recent.ts";
import type {
  AskedToLeave,
  Call,
  FencedStore,
  Invitation,
  Invited,
  KeepsMemos,
  ListedNames,
  ListsNames,
  PassesInvitations,
  Reopenable,
  ShowsLife,
} from "../contract.ts";
import type {
  Claim,
  Claimed,
  Hint,
  Hold,
  Kept,
  Looked,
  MemosRead,
  MemoWrite,
  MemoWritten,
  Name,
  Question,
  Released,
  Session,
  SessionSpec,
  Token,
  Will,
} from "../contract.ts";
import { isGivenUp } from "../call.ts";
import type { Guarantee } from "../../lease/guarantee.ts";
import { grantedMs } from "../granted-ttl.ts";
import { type Mailbox, Mailboxes } from "../mailbox.ts";
import { Beacon, sweep } from "./beacon.ts";
import type { HostKernel } from "./kernel.ts";
import { openFile, type OpenFile, type Source } from "./open-file.ts";
import { type StoredSeat, seatOf, type SocketFile } from "./place.ts";
import { evidenceOf, probe } from "./probe.ts";
import { Refusal } from "../../base/refusal.ts";
import { outcomeOf } from "./refusals.ts";
import { SqliteWatcher } from "./watcher.ts";

export interface SqliteStoreParts {
  readonly source: Source;
  readonly url: string;
  /** The place that is shown in messages. */
  readonly place: string;
  readonly guarantee: Guarantee<"fenced">;
  /** If undefined, there is no evidence except for silence. */
  readonly kernel: HostKernel | undefined;
}

/** If the beacon is undefined, this place has no room for one. */
interface Life {
  readonly kind: "life";
  readonly beacon: Beacon | undefined;
}

/** Each session is a process, or one that has begun anew: this is far more than can still be asked about. */
const SESSIONS_REMEMBERED = 1_000;

export class SqliteStore implements ListsNames, PassesInvitations, FencedStore, KeepsMemos, Reopenable, ShowsLife {
  readonly url: string;
  /** Two libraries that use one file in one process lose each other's locks, because POSIX gives the locks to the process. */
  readonly isBorrowed: boolean;
  readonly guarantee: Guarantee<"fenced">;
  readonly #parts: SqliteStoreParts;
  readonly #watcher: SqliteWatcher;
  readonly #mailboxes = new Mailboxes();
  readonly #releases: { will: Will; call: Call; resolve: (released: Released) => void }[] = [];
  /**
   * The sessions that were opened or kept through this handle in the file that is open now, and those whose file is gone. If a lost session is forgotten here, the new
   * file does not know it either, so its keeps are answered in the same way.
   */
  readonly #sessions = new Recent<string, true>(SESSIONS_REMEMBERED);
  readonly #lost = new Recent<string, true>(SESSIONS_REMEMBERED);
  #file: OpenFile | undefined;
  #beacon: Promise<Life | Refused | Unknown> | undefined;
  #lit: Beacon | undefined;
  #notice: Refusal | undefined;
  #isTelling = false;

  constructor(parts: SqliteStoreParts) {
    this.#parts = parts;
    this.url = parts.url;
    this.isBorrowed = "database" in parts.source;
    this.guarantee = parts.guarantee;
    this.#watcher = new SqliteWatcher(
      () => (this.#file ??= openFile(parts.source, parts.kernel)),
      parts.kernel,
      () => this.#lit?.socket.path,
    );
  }

  async keep(session: Session | SessionSpec, holds: readonly Hold[], call: Call): Promise<Kept> {
    if (isGivenUp(call)) return unknown(call.signal.reason);
    if ("nonce" in session) return await this.#open(session, call);
    if (!this.#lost.has(session.id) && this.#isReplaced()) this.#abandonFile();
    if (this.#lost.has(session.id)) return { kind: "session-lost" };
    const kept = this.#answer((file) => file.shelf.keep(session, holds, call.sentAtMs));
    // A session that was opened through another handle belongs to this file too.
    if (kept.kind === "kept") this.#sessions.set(session.id, true);
    return kept;
  }

  async #open(spec: SessionSpec, call: Call): Promise<Kept> {
    const ttlMs = grantedMs(spec.ttlMs, this.guarantee.ttl);
    if (this.#lit?.isFound() === false) this.#beacon = this.#lit = undefined;
    const life = await this.#light();
    if (life.kind !== "life") return life;
    return this.#answer((file) => {
      if (this.#lost.has(spec.nonce)) return { kind: "session-lost" };
      const kept = file.shelf.open(spec, ttlMs, life.beacon?.socket, call.sentAtMs);
      this.#sessions.set(spec.nonce, true);
      return kept;
    });
  }

  async claim(claims: readonly Claim[], call: Call): Promise<readonly Claimed[]> {
    if (isGivenUp(call)) return claims.map(() => unknown(call.signal.reason));
    const answer = this.#answer((file) => ({
      kind: "claimed" as const,
      claimed: file.shelf.claim(claims, call.sentAtMs),
    }));
    if (answer.kind !== "claimed") return claims.map(() => answer);
    if (answer.claimed.some(({ kind }) => kind === "granted")) this.#changed();
    // Somebody else was quicker, so this handle listens to their process now.
    else this.#watcher.refresh();
    return answer.claimed;
  }

  /** The releases of one turn are one transaction: ten thousand terms that are given back one by one would need half a minute of commits. */
  release(will: Will, call: Call): Promise<Released> {
    return new Promise((resolve) => {
      this.#releases.push({ will, call, resolve });
      if (this.#releases.length === 1) setImmediate(() => this.#releaseAll());
    });
  }

  #releaseAll(): void {
    const wanted = this.#releases.splice(0);
    const sent = wanted.filter(({ call }) => !isGivenUp(call));
    if (sent.length > 0) {
      const released = this.#answer((file): Released => {
        file.shelf.release(sent.map(({ will }) => will));
        return { kind: "released" };
      });
      if (released.kind === "released") this.#changed();
      for (const { resolve } of sent) resolve(released);
    }
    for (const { call, resolve } of wanted) if (isGivenUp(call)) resolve(unknown(call.signal.reason));
  }

  async look(questions: readonly Question[], call: Call): Promise<Looked> {
    if (isGivenUp(call)) return unknown(call.signal.reason);
    const names = questions.map(({ name }) => name);
    const answer = this.#answer((file) => ({ kind: "places" as const, places: file.shelf.look(names) }));
    if (answer.kind !== "places") return answer;
    const dead = await this.#findDead(answer.places);
    const seats = answer.places.map((place) =>
      seatOf(place, this.#parts.kernel, dead.has(place.sitter?.socket?.path ?? "")),
    );
    return { kind: "seen", seats };
  }

  /** The sockets of those holders that the kernel says are dead. Each socket is asked once; one that is connected already is not asked. */
  async #findDead(places: readonly StoredSeat[]): Promise<ReadonlySet<string>> {
    const asked = new Map<string, SocketFile>();
    for (const { sitter } of places) {
      const socket = evidenceOf(sitter, this.#parts.kernel);
      if (socket === undefined || socket.path === this.#lit?.socket.path || this.#watcher.isReached(socket)) continue;
      asked.set(socket.path, socket);
    }
    const dead = new Set<string>();
    const ask = async (socket: SocketFile): Promise<void> => {
      if ((await probe(socket)) === "dead") dead.add(socket.path);
    };
    await Promise.all([...asked.values()].map(ask));
    return dead;
  }

  async writeMemo(write: MemoWrite, call: Call): Promise<MemoWritten> {
    if (isGivenUp(call)) return unknown(call.signal.reason);
    if (this.#isReplaced()) this.#abandonFile();
    if (this.#lost.has(write.session.id)) return { kind: "session-lost" };
    const written = this.#answer((file) => file.shelf.memos.write(write));
    if (written.kind === "written") this.#changed();
    return written;
  }

  async readMemos(name: Name, key: string | undefined, call: Call): Promise<MemosRead> {
    if (isGivenUp(call)) return unknown(call.signal.reason);
    return this.#answer((file): MemosRead => ({ kind: "memos", memos: file.shelf.memos.read(name, key) }));
  }

  async listNames(most: number, call: Call): Promise<ListedNames> {
    if (isGivenUp(call)) return unknown(call.signal.reason);
    return this.#answer((file): ListedNames => {
      const names = file.shelf.listNames(most + 1);
      return { kind: "listed", names: names.slice(0, most), isWhole: names.length <= most };
    });
  }

  /** The holder looks for changes of the file by itself (watcher.ts). */
  async askToLeave(name: Name, token: Token, call: Call): Promise<AskedToLeave> {
    if (isGivenUp(call)) return unknown(call.signal.reason);
    const answer = this.#answer((file) => ({ kind: "done" as const, isKept: file.shelf.askToLeave(name, token) }));
    if (answer.kind !== "done") return answer;
    if (answer.isKept) {
      this.#changed();
      return { kind: "asked" };
    }
    const looked = await this.look([{ name }], call);
    const seat = looked.kind === "seen" ? looked.seats[0] : undefined;
    if (seat !== undefined) return { kind: "not-leading", seat };
    return looked.kind === "seen" ? unknown("a look answers every name") : looked;
  }

  async invite(name: Name, invitation: Invitation, call: Call): Promise<Invited> {
    if (isGivenUp(call)) return unknown(call.signal.reason);
    const answer = this.#answer((file): Invited => {
      file.shelf.invite(name, invitation);
      return { kind: "told" };
    });
    if (answer.kind === "told") this.#changed();
    return answer;
  }

  watch(questions: readonly Question[], call: Call): AsyncIterable<Hint> {
    return this.#mailboxes.watch(call.signal, (mailbox) => this.#addWatch(questions, mailbox));
  }

  /** A file that cannot be read ends the watch; a caller that still wants one tries again. */
  #addWatch(questions: readonly Question[], mailbox: Mailbox): () => void {
    try {
      return this.#watcher.add(questions, mailbox);
    } catch {
      mailbox.end();
      return () => {};
    }
  }

  /** The descriptor of the beacon that the last session has recorded. No other beacon is lit in its place: a process that holds this descriptor must hold the one that rivals watch. */
  async lifeDescriptor(): Promise<number | undefined> {
    const life = await this.#light();
    return life.kind === "life" ? life.beacon?.descriptor : undefined;
  }

  lifeFile(): string | undefined {
    return this.#lit?.socket.path;
  }

  async close(): Promise<void> {
    this.#mailboxes.endAll();
    this.#releaseAll();
    await this.#beacon;
    this.#lit?.putOut();
    this.#beacon = undefined;
    this.#lit = undefined;
    this.#file?.close();
    this.#file = undefined;
  }

  // ---- the file

  #answer<A>(act: (file: OpenFile) => A): A | Refused | Unknown {
    try {
      return act(this.#openFile());
    } catch (error) {
      return outcomeOf(error, this.#parts.place);
    }
  }

  #openFile(): OpenFile {
    if (this.#isReplaced()) this.#abandonFile();
    const notice = this.#notice;
    if (notice !== undefined) {
      this.#notice = undefined;
      throw notice;
    }
    this.#file ??= openFile(this.#parts.source, this.#parts.kernel);
    return this.#file;
  }

  #isReplaced(): boolean {
    return this.#file !== undefined && !this.#file.isSame();
  }

  #abandonFile(): void {
    this.#file?.close();
    this.#file = undefined;
    for (const id of this.#sessions.keys()) this.#lost.set(id, true);
    this.#sessions.clear();
    const message = `sqlite: ${this.#parts.place} is not the file that was opened: it, or its -wal or -shm, was deleted or replaced. Every leadership in it is over; whatever is at the path now is opened next, and a new file has a new token domain.`;
    this.#notice = new Refusal("STORE_UNREACHABLE", message, { retryable: true });
  }

  // ---- life and news

  /**
   * The beacon is lit before a session is written, so that a rival that reads the row of the session can ask. A place without a beacon costs speed, never safety. But while the file cannot be
   * opened, nothing is written either: a session that was written without its beacon would have none for as long as it lives.
   */
  async #light(): Promise<Life | Refused | Unknown> {
    const trying = (this.#beacon ??= this.#tryToLight());
    const life = await trying;
    if (life.kind === "life") this.#lit = life.beacon;
    else if (this.#beacon === trying) this.#beacon = undefined;
    return life;
  }

  async #tryToLight(): Promise<Life | Refused | Unknown> {
    const place = this.#answer((file) => ({ kind: "open" as const, path: file.path, shelf: file.shelf }));
    if (place.kind !== "open") return place;
    if (place.path === undefined || this.#parts.kernel === undefined) return { kind: "life", beacon: undefined };
    const { path, shelf } = place;
    const beacon = await Beacon.light(path, shelf.domain);
    const live = this.#answer(({ shelf }) => ({ kind: "live" as const, sockets: shelf.sockets() }));
    if (live.kind === "live") void sweep(path, shelf.domain, live.sockets);
    return { kind: "life", beacon };
  }

  /** This is called after a commit that changed seats or memos. It acts once a turn, however many commits there were. */
  #changed(): void {
    if (this.#isTelling) return;
    this.#isTelling = true;
    setImmediate(() => {
      this.#isTelling = false;
      this.#lit?.tell();
      this.#watcher.changedHere();
    });
  }
}
