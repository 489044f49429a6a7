// The store of an app that has a keeper (src/keeper): passes every call on unchanged, and tells the keeper what this process has at the store. The keeper is told of a
// write BEFORE it is sent, because a claim may be applied although its answer never comes.
//
// Where rivals watch a descriptor (`ShowsLife`), the kernel tells them of a death at once, whatever children there are. So with such a store no claim is sent before the
// keeper holds that descriptor too. A claim that waits for this in vain was not sent.
import { ConclaveError } from "../base/errors.ts";
import { unknown } from "../base/outcome.ts";
import { processWide } from "../base/process-wide.ts";
import { AppKeeperLink, type LifeDescriptor, lifeId } from "../keeper/link.ts";
import { markThisProcess } from "../keeper/mark.ts";
import { identify, isProcOurs } from "../keeper/processes.ts";
import { whenGivenUp } from "../stores/call.ts";
import type {
  Call,
  Claim,
  Claimed,
  Hold,
  KeepWish,
  Kept,
  Released,
  Reopenable,
  Session,
  SessionSpec,
  ShowsLife,
  Store,
  Will,
} from "../stores/contract.ts";
import { helperPath } from "./helper-path.ts";

/** The store does not see what a renewal thread sends, so it is told of the beats instead. */
export interface BeatNotes {
  /** A keep with these beats is about to be sent. */
  sending(beats: readonly string[] | undefined): void;
  /** The thread is about to send a keep that leaves this beat. */
  told(beat: string): void;
}

export interface KeptStore {
  readonly store: Store;
  readonly beats: BeatNotes;
  /** This store is not used any more. Seats that were given back stay so, and the others end with their ttl. */
  end(): void;
}

type Kinds = Store & Partial<Reopenable & ShowsLife>;

/** How many beats the keeper is told: the latest ones. */
const BEATS_MOST = 32;

/** `lost` is called when there is no keeper at the moment; another one is being started. */
export function keptStore(store: Kinds, quietMs: number, lost: (error: ConclaveError) => void): KeptStore {
  const link = linkOfProcess();
  const detach = link.attach((why) => lost(keeperLost(why)));
  if (store.lifeDescriptor === undefined) link.begin();
  const book = new SessionLedger(link, store, quietMs);
  const calls: Pick<Store, "keep" | "claim" | "release"> = {
    keep: (session, holds, call, wish) => book.keep(session, holds, call, wish),
    claim: (claims, call) => book.claim(claims, call),
    release: (will, call) => book.release(will, call),
  };
  return {
    store: withCalls(store, calls),
    beats: { sending: (beats) => book.note(beats), told: (beat) => book.note([...book.beats, beat]) },
    end: () => {
      book.close();
      detach();
    },
  };
}

/** Everything else that the store can do stays as it is. */
function withCalls(store: Store, calls: object): Store {
  return new Proxy(store, {
    get(target, name) {
      const found: unknown = Reflect.get(name in calls ? calls : target, name);
      return typeof found === "function" ? (found.bind(name in calls ? calls : target) as unknown) : found;
    },
  });
}

class SessionLedger {
  readonly #link: AppKeeperLink;
  readonly #store: Kinds;
  readonly #quietMs: number;
  #session: { readonly id: string; readonly key: number; readonly life: LifeDescriptor | undefined } | undefined;
  beats: readonly string[] = [];

  constructor(link: AppKeeperLink, store: Kinds, quietMs: number) {
    this.#link = link;
    this.#store = store;
    this.#quietMs = quietMs;
  }

  async keep(session: Session | SessionSpec, holds: readonly Hold[], call: Call, wish?: KeepWish): Promise<Kept> {
    if ("id" in session) this.note(session.beats);
    const answer = await this.#store.keep(session, holds, call, wish);
    // Only an opening counts: a late answer to a keep of the session before must not take the place of the present one.
    if (answer.kind === "kept" && "nonce" in session && answer.session.id !== this.#session?.id)
      await this.#open(answer.session);
    if (answer.kind === "session-lost" && "id" in session && session.id === this.#session?.id) this.close();
    return answer;
  }

  async claim(claims: readonly Claim[], call: Call): Promise<readonly Claimed[]> {
    const session = this.#session;
    if (session !== undefined)
      this.#link.claimed(
        session.key,
        claims.map(({ name, bid }) => ({ name, bid })),
      );
    if (session?.life !== undefined && !(await isInTime(this.#link.holds(session.life), call)))
      return claims.map(() =>
        unknown(keeperLost("it does not hold yet what rivals watch, and without that nothing is claimed")),
      );
    return await this.#store.claim(claims, call);
  }

  async release(will: Will, call: Call): Promise<Released> {
    const answer = await this.#store.release(will, call);
    const { id, key } = this.#session ?? {};
    if (answer.kind !== "released" || key === undefined || id !== will.session.id) return answer;
    if (will.endSession) this.close();
    else
      this.#link.returned(
        key,
        will.holds.map(({ name, bid }) => ({ name, bid })),
      );
    return answer;
  }

  note(beats: readonly string[] | undefined): void {
    if (beats === undefined || this.#session === undefined) return;
    this.beats = beats.slice(-BEATS_MOST);
    this.#link.beats(this.#session.key, this.beats);
  }

  close(): void {
    if (this.#session !== undefined) this.#link.over(this.#session.key);
    this.#session = undefined;
    this.beats = [];
  }

  async #open(session: Session): Promise<void> {
    const life = await lifeOf(this.#store);
    this.close();
    this.beats = session.beats ?? [];
    const key = this.#link.open({ url: this.#store.url ?? "", quietMs: this.#quietMs, life, session });
    this.#session = { id: session.id, key, life };
  }
}

async function lifeOf(store: Kinds): Promise<LifeDescriptor | undefined> {
  const descriptor = await store.lifeDescriptor?.();
  const file = store.lifeFile?.();
  const id = descriptor === undefined ? undefined : lifeId(descriptor);
  return descriptor === undefined || file === undefined || id === undefined ? undefined : { descriptor, id, file };
}

/** False if the caller has given up before it was ready. */
function isInTime(ready: Promise<void>, call: Call): Promise<boolean> {
  return new Promise((resolve) => {
    whenGivenUp(call, () => resolve(false));
    void ready.then(() => resolve(true));
  });
}

/** There is one link for all candidates, stores, and copies of this package. */
function linkOfProcess(): AppKeeperLink {
  return processWide("keeper-link.1", () => {
    const app = identify(process.pid);
    const program = helperPath("keeper", "app-keeper");
    if (app === undefined || program === undefined)
      throw new ConclaveError("STORE_UNSUPPORTED", `keeper: ${problemOfPlace() ?? "it cannot be started here"}`);
    return new AppKeeperLink({ program, app, mark: markThisProcess(), looksForChildren: process.platform === "linux" });
  });
}

/** Says, for people, why no process can have a keeper here. */
export function problemOfPlace(): string | undefined {
  if (helperPath("keeper", "app-keeper") === undefined)
    return `keeper needs the file keeper/app-keeper.js of this package, which is not there. Where a bundler has joined conclave into your program, leave conclave out of the bundle`;
  if (!isProcOurs())
    return "keeper: /proc is that of another pid namespace, so that process ids would mean other processes. Mount it here: unshare --mount-proc";
  if (identify(process.pid) === undefined)
    return "keeper: this system does not say when a process was started, so that a death cannot be told from a used number";
  return undefined;
}

function keeperLost(why: string): ConclaveError {
  const message = `the keeper is not there: ${why}. Another one is being started; until then a crash of this process is noticed when the ttl runs out.`;
  return new ConclaveError("KEEPER_LOST", message);
}
