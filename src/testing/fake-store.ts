// A store whose time the test controls, for testing one's own code against the real election: `memory:` on a clock that moves only by `advance`, with faults on request. Candidates made with it live by
// the same clock, so that a campaign, a lost term and a takeover happen inside `await store.advance(ms)`.
//
// The store stands for a server elsewhere: when this host sleeps (`suspend`), the store's time runs on.
import type { Clock } from "../base/clock.ts";
import type { Bid, Name } from "../lease/exchange.ts";
import { RaceShelf } from "../simulator/models/race-shelf.ts";
import type { Shelf } from "../simulator/models/shelf.ts";
import type { FencedStore } from "../stores/contract.ts";
import { hostClock, type WithClock } from "../stores/host-clock.ts";
import { guaranteeOf } from "../stores/memory/guarantee.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { SharedShelf } from "../stores/memory/shared-shelf.ts";
import type { Faults } from "./faults.ts";
import { faulty, type FaultyStore } from "./faulty.ts";
import { ManualClock } from "./manual-clock.ts";

/** A store that the test controls. */
export interface FakeStore extends FencedStore, WithClock {
  /** Moves the clock of the store and of its candidates, from timer to timer; all effects of the timers have settled when this resolves. */
  advance(ms: number): Promise<void>;
  /** This host sleeps: boot time and the store's time run on, the monotonic clock stands still. */
  suspend(ms: number): void;
  /** Another candidate takes the leadership, with the next token. It never renews: after the ttl of the leader that it deposed (15 s if there was none) the name is free. */
  depose(election: string): void;
  /** Nothing reaches the store any more, and nothing is answered. */
  hang(): void;
  heal(): void;
  /** The next request, of any method, is applied but never answered. */
  dropNextAnswer(): void;
  /** The controls for finer faults than those above. */
  readonly faults: Faults;
}

/** Makes a store that the test controls: it can hang, fail and be suspended. */
export function fakeStore(): FakeStore {
  const clock = new ManualClock();
  const domain = "fake";
  const shelf = new RaceShelf({ domain, judge: "store", layout: "session", refusesClones: true });
  const guarantee = { ...guaranteeOf("race", "store", domain), store: "fake" };
  const shared = new SharedShelf(shelf, guarantee, serverClock(clock));
  const front = faulty(new MemoryStore(shared, "memory:"), { clock });
  return Object.assign(front, { [hostClock]: clock, ...hands(front.faults, clock, shared) });
}

type Hands = Omit<FakeStore, keyof FaultyStore<"fenced">>;

/** The controls for the tester. */
function hands(faults: Faults, clock: ManualClock, shared: SharedShelf): Hands {
  let rivals = 0;
  return {
    advance: (ms) => clock.advance(ms),
    suspend: (ms) => {
      clock.suspend(ms);
      shared.access(() => {}); // the server has not slept: sessions that expired meanwhile are over
    },
    depose: (election) =>
      shared.access((rows, nowMs) => {
        shared.expectEnd(seize(rows, election, `rival-${++rivals}`, nowMs));
        shared.tell([election]);
      }),
    hang: () => faults.hang(),
    heal: () => faults.heal(),
    dropNextAnswer: () => faults.next("any", { dropAnswer: true }),
  };
}

const RIVAL_TTL_MS = 15_000;

/** Acts as an operator would: it deletes the record, so that the holder loses this one name and not its session, and then claims the missing seat. Returns the time when the rival's session ends. */
function seize(shelf: Shelf, name: Name, rival: string, nowMs: number): number {
  const ttlMs = shelf.look({ name }, nowMs).ttlMs ?? RIVAL_TTL_MS;
  shelf.deleteRecord(name, nowMs);
  const kept = shelf.keep({ nonce: rival, candidate: rival, ttlMs }, [], nowMs);
  if (kept.kind !== "kept") throw new Error("fakeStore: the rival could not open a session");
  const { version } = shelf.look({ name }, nowMs);
  const bid = `${rival}.1` as Bid;
  shelf.claim({ session: kept.session, name, bid, over: version, value: "" }, nowMs);
  return nowMs + ttlMs;
}

/** Includes the time that the host sleeps. Its timers are those of the host, and so may be late: the time is read at each access. */
function serverClock(clock: ManualClock): Clock {
  return {
    grain: clock.grain,
    now: () => ({ mono: clock.now().boot, boot: clock.now().boot }),
    timer: (afterMs, wake) => clock.timer(afterMs, wake),
  };
}
