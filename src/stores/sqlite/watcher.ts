// Gives hints for as long as somebody watches. There are three sources, because none is enough:
//   sockets   A holder tells the waiters that are connected to it when it has changed something, and its death ends the connection: within a millisecond or two. A few are
//             connected for each name; the others ask from time to time whether the holder lives (vigil.ts)
//   ourselves This process tells its own watchers what it commits
//   a look    Every 50 ms the watcher reads SQLite's data_version, which a commit of another connection changes. So changes that nobody reports (a name that was vacant, a
//             row deleted by hand, a replaced file) are noticed too. This reads no page. The changed names are read only if something was committed.
//             It takes half a percent of one core here, most of it for waking Node up. A watcher that knows that the holders of all its names are alive
//             looks once a second: otherwise five hundred that wait for one leader would keep two cores busy
// fs.watch on the -wal is not used: it fires before the commit is visible, and its descriptors are few (max_user_instances).
// Hints are not needed for safety. The machine's own requests report an error that happens here.
import { asVersion, type Hint, type Name, type Question } from "../contract.ts";
import type { Mailbox } from "../mailbox.ts";
import { readInvitation } from "../invitations.ts";
import { Watched } from "../watched.ts";
import type { HostKernel } from "./kernel.ts";
import type { OpenFile } from "./open-file.ts";
import { type StoredSeat, seatOf, type SocketFile } from "./place.ts";
import { evidenceOf } from "./probe.ts";
import { type News, Vigil } from "./vigil.ts";

const LOOK_EVERY_MS = 50;
/** The pause between looks while all watched names are held by processes that report their changes. */
const LOOK_SELDOM_MS = 1000;
/** After this many looks, a holder that could not be reached, and is not proven dead, is tried again. */
const LOOKS_PER_RENEWAL = 20;

export class SqliteWatcher {
  readonly #file: () => OpenFile;
  readonly #kernel: HostKernel | undefined;
  /** The socket of this very process, which need not be watched. */
  readonly #ownSocket: () => string | undefined;
  readonly #watched = new Watched();
  readonly #memos = new Set<{ readonly hint: Hint; readonly mailbox: Mailbox }>();
  readonly #vigils = new Map<string, Vigil>();
  readonly #holderOf = new Map<Name, string>();
  #timer: NodeJS.Timeout | undefined;
  #turn: NodeJS.Timeout | undefined;
  #lookEveryMs = LOOK_EVERY_MS;
  #looks = 0;
  #seen: OpenFile | undefined;
  #dataVersion = -1;
  #lastChange = "0";
  #asked: ReadonlyMap<Name, string> = new Map();
  #invited: ReturnType<OpenFile["shelf"]["allInvited"]> = new Map();
  /** This process has committed something, which the data_version of its own connection does not show. */
  #isStale = false;

  constructor(file: () => OpenFile, kernel: HostKernel | undefined, ownSocket: () => string | undefined) {
    this.#file = file;
    this.#kernel = kernel;
    this.#ownSocket = ownSocket;
  }

  /** Returns a function that stops this watch. Throws if the file cannot be read. */
  add(questions: readonly Question[], mailbox: Mailbox): () => void {
    const file = this.#file();
    const { shelf } = file;
    if (this.#watched.size === 0) {
      this.#seen = file;
      this.#lastChange = shelf.lastChange();
      this.#invited = shelf.allInvited();
    }
    const names = questions.map(({ name }) => name);
    const memos = questions.flatMap(({ name, memo }) =>
      memo === undefined ? [] : [{ hint: { name, memo }, mailbox }],
    );
    for (const memo of memos) this.#memos.add(memo);
    this.#watched.add(names, mailbox);
    for (const place of shelf.look(names)) {
      this.#follow(place);
      // A name that is free already was given back between the look that led to this watch and now.
      if (place.state !== "held") this.#watched.tell(place.name, seatOf(place, this.#kernel, false));
    }
    this.#arrangeLook();
    return () => {
      for (const memo of memos) this.#memos.delete(memo);
      for (const name of names) this.#remove(name, mailbox);
    };
  }

  #remove(name: Name, mailbox: Mailbox): void {
    if (!this.#watched.remove(name, mailbox)) return;
    this.#unfollow(name);
    if (this.#watched.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  // ---- looking

  /** This only ever makes the next look earlier: a holder that was reached may be gone again before the look comes. */
  #arrangeLook(): void {
    if (this.#watched.size === 0) return;
    const everyMs = this.#isToldOfAll() ? LOOK_SELDOM_MS : LOOK_EVERY_MS;
    if (this.#timer !== undefined && everyMs >= this.#lookEveryMs) return;
    clearTimeout(this.#timer);
    this.#lookEveryMs = everyMs;
    this.#timer = setTimeout(() => this.#lookUp(), everyMs).unref();
  }

  /** True if other processes report the changes of all watched names. Nobody else reports changes of a name that this process holds itself. */
  #isToldOfAll(): boolean {
    for (const name of this.#watched.names()) {
      const holder = this.#holderOf.get(name);
      if (holder === undefined || this.#vigils.get(holder)?.life !== "alive") return false;
    }
    return true;
  }

  /** True if the socket is connected, so that its process lives as far as anybody knows. */
  isReached(socket: SocketFile): boolean {
    return this.#vigils.get(socket.path)?.life === "alive";
  }

  /** Something may have changed, and names may have other holders now: this reports the changes, and listens to the present holders. */
  refresh(): void {
    if (this.#watched.size === 0) return;
    try {
      this.#tellChanges();
    } catch {
      // The file is locked or gone: the machine's own requests report that, and the next look tries again.
    }
    this.#arrangeLook();
  }

  #lookUp(): void {
    this.#timer = undefined;
    this.#looks++;
    if (this.#looks % LOOKS_PER_RENEWAL === 0) for (const vigil of this.#vigils.values()) vigil.renew();
    this.refresh();
  }

  #tellChanges(): void {
    const file = this.#file();
    if (!file.isSame()) return this.#tellReplaced();
    this.#beginWith(file);
    const dataVersion = file.shelf.dataVersion();
    const change = dataVersion === this.#dataVersion && !this.#isStale ? this.#lastChange : file.shelf.lastChange();
    if (dataVersion !== this.#dataVersion || this.#isStale) this.#tellAsked(file);
    if (dataVersion !== this.#dataVersion || this.#isStale) this.#tellMemos();
    if (dataVersion !== this.#dataVersion || this.#isStale) this.#tellInvited(file);
    this.#dataVersion = dataVersion;
    this.#isStale = false;
    if (change === this.#lastChange) return;
    const names = file.shelf.changedSince(this.#lastChange).filter((name) => this.#watched.has(name));
    this.#lastChange = change;
    for (const place of file.shelf.look(names)) {
      this.#follow(place);
      this.#watched.tell(place.name, seatOf(place, this.#kernel, false));
    }
  }

  /** Requests to hand over change no seat. Each is reported once; the holder's renewals show it in any case. */
  #tellAsked({ shelf }: OpenFile): void {
    const asked = shelf.allAsked();
    for (const [name, token] of asked) if (this.#asked.get(name) !== token) this.#watched.tellAsked(name);
    this.#asked = asked;
  }

  /** Each invitation is reported once, but none that was stored before somebody watched. */
  #tellInvited({ shelf }: OpenFile): void {
    const invited = shelf.allInvited();
    for (const [name, { text, n }] of invited) {
      const invitation = this.#invited.get(name)?.n === n ? undefined : readInvitation(text);
      if (invitation !== undefined) this.#watched.tellInvited(name, invitation);
    }
    this.#invited = invited;
  }

  /** Any commit may have written a memo. A memo must not change the change number of a seat, because a rival would take that for a sign of life. */
  #tellMemos(): void {
    for (const { hint, mailbox } of this.#memos) mailbox.put(hint);
  }

  /** Another file counts its changes anew, so everything in it is news. */
  #beginWith(file: OpenFile): void {
    if (this.#seen === file) return;
    this.#seen = file;
    this.#isStale = true;
    this.#lastChange = "0";
  }

  changedHere(): void {
    this.#isStale = true;
    this.refresh();
  }

  #tellReplaced(): void {
    for (const name of this.#watched.names())
      this.#watched.tell(name, { name, version: asVersion("replaced"), state: "missing" });
  }

  /** Many may hear of a change at the same instant, but only one can win, so each has its turn. */
  #refreshIn(pauseMs: number): void {
    if (this.#turn !== undefined) return;
    if (pauseMs === 0) return this.refresh();
    this.#turn = setTimeout(() => {
      this.#turn = undefined;
      this.refresh();
    }, pauseMs).unref();
  }

  // ---- the processes that hold what is watched

  #follow(place: StoredSeat): void {
    const socket = evidenceOf(place.sitter, this.#kernel);
    const wanted = socket === undefined || socket.path === this.#ownSocket() ? undefined : socket;
    if (this.#holderOf.get(place.name) === wanted?.path) return;
    this.#unfollow(place.name);
    if (wanted === undefined) return;
    this.#holderOf.set(place.name, wanted.path);
    const vigil = this.#vigils.get(wanted.path);
    if (vigil === undefined) this.#reach(wanted, place.name);
    else vigil.add(place.name);
  }

  #reach(socket: SocketFile, name: Name): void {
    const hear = (news: News): void => {
      if (news === "dead") for (const each of new Set(vigil.names)) this.#tellDead(each, socket);
      if (news === "change") this.#refreshIn(vigil.pauseMs);
      else this.#arrangeLook(); // from now on nobody reports changes of this name
    };
    const vigil = new Vigil(socket, name, hear);
    this.#vigils.set(socket.path, vigil);
  }

  /** Another process may have taken the seat already: then this handle listens to that one. */
  #tellDead(name: Name, { path, file }: SocketFile): void {
    try {
      for (const place of this.#file().shelf.look([name])) {
        const socket = evidenceOf(place.sitter, this.#kernel);
        this.#watched.tell(name, seatOf(place, this.#kernel, socket?.path === path && socket.file === file));
        this.#follow(place);
      }
    } catch {
      this.#watched.tell(name, { name, version: asVersion("unread"), state: "missing" });
    }
  }

  #unfollow(name: Name): void {
    const path = this.#holderOf.get(name);
    if (path === undefined) return;
    this.#holderOf.delete(name);
    const vigil = this.#vigils.get(path);
    vigil?.remove(name);
    if (vigil === undefined || vigil.names.size > 0) return;
    vigil.end();
    this.#vigils.delete(path);
  }
}
