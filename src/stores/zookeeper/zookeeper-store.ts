// One handle on a ZooKeeper ensemble: the six methods of the contract. A candidate's requests go over the connection of its own session, all others over one
// of the driver's own (sessions.ts). It opens at the first call, and again whenever it has to.
import { setMaxListeners } from "node:events";
import { unknown } from "../../base/outcome.ts";
import type { StopSignal } from "../../clients/stop-signal.ts";
import type { ZooKeeperAddress } from "../../clients/zookeeper/address.ts";
import { NOT_WANTED } from "../../clients/zookeeper/connection.ts";
import type { Acl } from "../../clients/zookeeper/messages.ts";
import type { Guarantee } from "../../lease/guarantee.ts";
import { isGivenUp, stopSignalOf } from "../call.ts";
import type {
  Call,
  Claim,
  Claimed,
  FencedStore,
  Hint,
  Hold,
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
  Question,
  Refused,
  Released,
  Reopenable,
  Session,
  SessionSpec,
  ShownNext,
  ShownNodeless,
  ShowsNext,
  ShowsNodeless,
  Token,
  Unknown,
  Will,
} from "../contract.ts";
import { type Mailbox, Mailboxes } from "../mailbox.ts";
import { inTurns } from "../few-at-once.ts";
import { Banned } from "../banned.ts";
import { granting, readPass } from "./bans.ts";
import { guaranteeOf } from "./guarantee.ts";
import { keep } from "./keep.ts";
import type { LayoutName } from "./layout.ts";
import type { ZooKeeperLink } from "./link.ts";
import { listNames } from "./list.ts";
import { lookAt, showNext, showNodeless } from "./look.ts";
import { readMemos, writeMemo } from "./memos.ts";
import type { TreePlace, ShapeName } from "./place.ts";
import { giveBack, lookAtSeat, take } from "./race.ts";
import { outcomeOf } from "./refusals.ts";
import { ZooKeeperPost } from "./sentry.ts";
import { type HeldSession, Sessions } from "./sessions.ts";
import { join, leave } from "./stand.ts";

export interface StoreSettings {
  readonly address: ZooKeeperAddress;
  readonly tickMs: number;
  readonly shape: ShapeName;
  readonly layout: LayoutName;
  readonly acl: readonly Acl[];
}

/** The parts that differ between the two shapes. */
const RECIPES = {
  line: { claim: join, leave, look: lookAt },
  race: { claim: take, leave: giveBack, look: lookAtSeat },
} as const;

/**
 * So many claims, or so many entries that are given back, are under way at once. A server writes what has arrived to its disk together, so that many of them take little longer than one; and a
 * renewal that waits behind these waits for some milliseconds.
 */
const AT_ONCE = 64;

const LOST = { kind: "session-lost" } as const;

export class ZooKeeperStore implements FencedStore, KeepsMemos, ListsNames, ShowsNext, ShowsNodeless, Reopenable {
  readonly #address: ZooKeeperAddress;
  readonly guarantee: Guarantee<"fenced">;
  readonly #chroot: string;
  readonly #shape: ShapeName;
  readonly #layout: LayoutName;
  readonly #sessions: Sessions;
  #place: TreePlace | undefined;
  readonly #mailboxes = new Mailboxes();

  constructor({ address, tickMs, shape, layout, acl }: StoreSettings) {
    this.#address = address;
    this.guarantee = guaranteeOf(tickMs, shape);
    this.#chroot = address.chroot;
    this.#shape = shape;
    this.#layout = layout;
    this.#sessions = new Sessions(address, acl, tickMs);
  }

  /** It may carry a password: not a field, so that it is not printed with the object. */
  get url(): string {
    return this.#address.url;
  }

  async keep(session: Session | SessionSpec, holds: readonly Hold[], call: Call, wish: KeepWish = {}): Promise<Kept> {
    if (!("id" in session)) return await this.#with(call, (signal) => this.#open(session, signal));
    return await this.#ofSession(session, call, (link, held, place) => keep(link, held, place, session, holds, wish));
  }

  async claim(claims: readonly Claim[], call: Call): Promise<readonly Claimed[]> {
    const recipe = RECIPES[this.#shape].claim;
    const claimOne = (claim: Claim): Promise<Claimed> =>
      this.#ofSession<Claimed>(claim.session, call, (link, held, place) => recipe(link, held, place, claim));
    return await inTurns(claims, claimOne, AT_ONCE);
  }

  async release({ session, holds, endSession }: Will, call: Call): Promise<Released> {
    return await this.#with<Released>(call, async (signal) => {
      if (endSession) await this.#end(session, signal);
      else await this.#leaveAll(session, holds, signal);
      return { kind: "released" };
    });
  }

  async look(questions: readonly Question[], call: Call): Promise<Looked> {
    return await this.#lookingOn<Looked>(call, async (link, place) => {
      const seats = await inTurns(questions, (question) => RECIPES[this.#shape].look(link, place, question));
      const [missed] = seats.filter((seat) => "kind" in seat);
      return missed ?? { kind: "seen", seats: seats.flatMap((seat) => ("kind" in seat ? [] : [seat])) };
    });
  }

  /** This exists only where this handle has a line. */
  async showNext(name: Name, token: Token, call: Call): Promise<ShownNext> {
    return await this.#lookingOn<ShownNext>(call, (link, place) => showNext(link, place, name, token));
  }

  async showNodeless(name: Name, call: Call): Promise<ShownNodeless> {
    return await this.#lookingOn<ShownNodeless>(call, (link, place) => showNodeless(link, place, name));
  }

  async writeMemo(write: MemoWrite, call: Call): Promise<MemoWritten> {
    return await this.#ofSession<MemoWritten>(write.session, call, (link, held) =>
      writeMemo(link, held, this.#chroot, write, (session) => this.#sessions.endAny(session, link.signal)),
    );
  }

  async readMemos(name: Name, key: string | undefined, call: Call): Promise<MemosRead> {
    return await this.#lookingOn<MemosRead>(call, (link) => readMemos(link, this.#chroot, name, key));
  }

  async listNames(most: number, call: Call): Promise<ListedNames> {
    return await this.#lookingOn<ListedNames>(call, (link, place) => listNames(link, place, most));
  }

  watch(questions: readonly Question[], call: Call): AsyncIterable<Hint> {
    return this.#mailboxes.watch(call.signal, (mailbox) => {
      const over = new AbortController();
      setMaxListeners(0, over.signal);
      this.#post(questions, mailbox, over.signal).catch(() => mailbox.end());
      return () => over.abort(NOT_WANTED);
    });
  }

  async close(): Promise<void> {
    this.#mailboxes.endAll();
    this.#sessions.close();
  }

  async #open(spec: SessionSpec, signal: StopSignal): Promise<Kept> {
    const before = this.#sessions.opened(spec.nonce);
    const session = before ?? (await this.#sessions.open(spec, signal));
    if ("kind" in session) return session;
    const held = await this.#sessions.find(session, signal);
    if (held === undefined) return LOST;
    // Over an open connection this sends nothing of the session: opening again extends nothing.
    const link = await this.#sessions.link(held.session, signal).catch((error: unknown) => {
      if (held.session.isOver) return undefined;
      throw error;
    });
    if (link === undefined) return LOST;
    if (before !== undefined && held.pass !== undefined && !(await this.#isGood(held, signal))) return LOST;
    return {
      kind: "kept",
      session,
      lost: [],
      unsure: [],
      strays: [],
      road: link.road,
      met: this.#sessions.met,
    };
  }

  /** This is asked over the driver's own connection, which extends nothing. */
  async #isGood(held: HeldSession, signal: StopSignal): Promise<boolean> {
    try {
      await granting(await this.#sessions.onlooker(signal), held, "open", []);
      return true;
    } catch (error) {
      if (error instanceof Banned) return false;
      throw error;
    }
  }

  async #end(session: Session, signal: StopSignal): Promise<void> {
    const held = await this.#sessions.find(session, signal);
    await held?.session.end(signal);
  }

  /** Uses the session's own connection where this process has it. Taking the session over only for this would disconnect its owner. */
  async #leaveAll(session: Session, holds: readonly Hold[], signal: StopSignal): Promise<void> {
    const held = this.#sessions.known(session);
    const place = { chroot: this.#chroot, layout: this.#layout };
    try {
      const link =
        held === undefined ? await this.#sessions.onlooker(signal) : await this.#sessions.link(held.session, signal);
      await inTurns(holds, (hold) => RECIPES[this.#shape].leave(link, held, place, session.id, hold), AT_ONCE);
    } catch (error) {
      // A session that is over has nothing left.
      if (held?.session.isOver !== true) throw error;
    }
  }

  async #post(questions: readonly Question[], mailbox: Mailbox, signal: StopSignal): Promise<void> {
    const link = await this.#sessions.onlooker(signal);
    const place = await this.#findPlace(link);
    const post = new ZooKeeperPost(
      link,
      place,
      (hint) => mailbox.put(hint),
      () => mailbox.end(),
    );
    signal.addEventListener("abort", () => post.stop(), { once: true });
    if (signal.aborted) return post.stop();
    await post.stand(questions);
  }

  async #findPlace(link: ZooKeeperLink): Promise<TreePlace> {
    const domain = await this.#sessions.domain(link);
    return (this.#place ??= { chroot: this.#chroot, shape: this.#shape, layout: this.#layout, domain });
  }

  async #ofSession<A>(
    session: Session,
    call: Call,
    ask: (link: ZooKeeperLink, held: HeldSession, place: TreePlace) => Promise<A>,
  ): Promise<A | typeof LOST | Refused | Unknown> {
    if (isGivenUp(call)) return unknown(call.signal.reason);
    let held = this.#sessions.known(session);
    try {
      const signal = stopSignalOf(call);
      held ??= await this.#sessions.find(session, signal);
      // A server that took the session over may have granted less time than the term counts on (session.ts).
      if (held === undefined || held.session.timeoutMs < session.ttlMs) return LOST;
      const link = await this.#sessions.link(held.session, signal);
      if (session.node !== undefined) held.pass ??= await readPass(link, this.#chroot, session.node, session.id);
      return await ask(link, held, this.#place ?? (await this.#findPlace(link)));
    } catch (error) {
      if (held?.session.isOver === true || error instanceof Banned) return LOST;
      return outcomeOf(error, this.#address);
    }
  }

  #lookingOn<A>(
    call: Call,
    ask: (link: ZooKeeperLink, place: TreePlace) => Promise<A>,
  ): Promise<A | Refused | Unknown> {
    return this.#with(call, async (signal) => {
      const link = await this.#sessions.onlooker(signal);
      return await ask(link, await this.#findPlace(link));
    });
  }

  async #with<A>(call: Call, ask: (signal: StopSignal) => Promise<A>): Promise<A | Refused | Unknown> {
    if (isGivenUp(call)) return unknown(call.signal.reason);
    try {
      return await ask(stopSignalOf(call));
    } catch (error) {
      return outcomeOf(error, this.#address);
    }
  }
}
