// What a store promises, as data. The machine, `resolve()`, the docs and the conformance suite read it. There is no code here.

/** Whether a store gives tokens that grow. */
export type Fencing = "fenced" | "unfenced";

/** What can happen to a leader or its store. A store says of each what is promised then. */
export type Hazard =
  | "processPause"
  | "partition"
  | "storeLeaderChange"
  | "storeRestart"
  | "clockJump"
  | "clockDrift"
  | "recordDeleted"
  | "machineCloned";

/** How much a store keeps as memos. */
export interface MemoBounds {
  /** Keys of one name. */
  readonly keys: number;
  /** Bytes of one value, as UTF-8. */
  readonly bytes: number;
}

/** What a store promises, as data. The lease machine computes with it, and messages quote it. */
export interface Guarantee<F extends Fencing = Fencing> {
  /** The store's name in messages: "memory", "etcd". */
  readonly store: string;
  /** How far it reaches. */
  readonly scope: "process" | "host" | "network";
  /** Whether it survives the loss of a minority of its servers. */
  readonly quorum: boolean;
  /** What the store can grant; anything else is refused with `why`. */
  readonly ttl: { readonly minMs: number; readonly maxMs: number; readonly stepMs: number; readonly why: string };
  /** Whether `watch` says something, or waiters must look from time to time. */
  readonly wakes: "watch" | "poll";
  /** With `wakes` "poll": how often waiters look. They look ten times in a ttl at least. @default 1000 */
  readonly lookMs?: number | undefined;
  /** With `wakes` "poll": `watch` tells a few of those who wait sooner. The others look, and so do these. */
  readonly tellsFew?: boolean | undefined;
  /** A watch that has not ended has told everything: waiters look for themselves once a minute, or in eight ttls if that is longer. */
  readonly hintsUntilEnd?: boolean;
  /** In a race: a hint that the seat is vacant reaches everybody who waits, at once. Then claims are spread by how often they were in vain (`spreadMs` of lease/backoff.ts). */
  readonly wakesAll?: boolean;
  /** CP or AP, and the use it is fit for, in a sentence. */
  readonly cap: string;
  readonly fencing: F;
  readonly token: {
    readonly source: string;
    readonly domain: string;
    readonly survivesDeletion: boolean;
    readonly survivesRestore: boolean;
  };
  /** line: the store orders candidates. race: the first swap wins. */
  readonly shape: "line" | "race";
  /** Who decides that silence is death, and on which clock. `taker`: the rival, by the law of the taker (lease/race.ts). */
  readonly judge: "store-monotonic" | "store-wall" | "taker" | "kernel";
  /** Which keep a `kept` answer proves to have reached the judge: this one, or only the last one answered before it. */
  readonly keepProves: "this-send" | "previous-send";
  /** An answer later than this after its send, by either hand, proves nothing (the judge may have stalled). Infinity: always proves. */
  readonly proofWithinMs: number;
  /** With "previous-send": a keep proves the one before it only if it was sent so long after it (touches are relayed by the tick). Undefined: however soon. */
  readonly proofApartMs?: number | undefined;
  /** Subtracted on top of drift and grain (relay ticks). */
  readonly extraMarginMs: number;
  /** Ways in which a lease may end before its ttl. Not empty ⇒ the deadline alone does not exclude an overlap. */
  readonly earlyEnds: readonly string[];
  /** one-request: one keep extends the session and all its holds. per-hold: each record is renewed by itself. */
  readonly keep: "one-request" | "per-hold";
  readonly holdsPerSession: number;
  /**
   * With `keep` "one-request": it is enough if a keep carries so many holds, or a third of them, and the others take turns (lease/rota.ts). Then a hold that was
   * deleted is noticed by the third renewal at the latest, and not by the next. Undefined: every keep carries all.
   */
  readonly holdsPerKeep?: number | undefined;
  /**
   * A request should carry no more claims than this. A store that works through many requests as quickly as through a large one sets it: it works on one of them while the candidate
   * reads the answer to another. Undefined: a few hundred.
   */
  readonly claimsPerRequest?: number | undefined;
  /** Of two copies of one process (a cloned virtual machine) only one can go on to renew their session: keeps swap over the beat that they know (`Session.beats`). */
  readonly refusesClones?: boolean;
  /** The store keeps memos (`KeepsMemos`), so many and so large. Absent: it has none. */
  readonly memos?: MemoBounds | undefined;
  /**
   * The store records the node of a session and keeps bans (`SessionSpec.node`, `MemoWrite.ban`): from the commit of a ban on, nothing is granted to a session of that
   * node. Needs memos. Absent: it keeps none, and STONITH refuses to run on it.
   */
  readonly bans?: true | undefined;
  /** The store passes invitations on (`PassesInvitations`), so that a term can be transferred and candidates can have priorities. Absent: it does not. Only races have it. */
  readonly invites?: true | undefined;
  /** A sentence per fault that a tired operator understands. */
  readonly under: Readonly<Record<Hazard, string>>;
}
