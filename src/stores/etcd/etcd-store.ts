// One handle on an etcd cluster: the six methods of the contract, each over one connection. It opens at the first call, and again whenever it has to.
//
// Two things are remembered between calls: the connection, and which nonces have been granted a lease here. etcd would grant the same lease again after it has
// expired. So for a nonce that was answered once, the lease is only looked for. A nonce is used by one candidate of one process, so this handle has seen its answer.
import { setMaxListeners } from "node:events";
import { unknown } from "../../base/outcome.ts";
import { Recent } from "../../base/recent.ts";
import type { EtcdClient } from "../../clients/etcd/client.ts";
import { NOT_WANTED } from "../../clients/etcd/connection.ts";
import type { EtcdLink } from "../../clients/etcd/link.ts";
import type { StopSignal } from "../../clients/stop-signal.ts";
import type { Guarantee } from "../../lease/guarantee.ts";
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
  ListedNames,
  ListsNames,
} from "../contract.ts";
import { isGivenUp, stopSignalOf } from "../call.ts";
import { type Mailbox, Mailboxes } from "../mailbox.ts";
import { anyVersion, metAt } from "./guarantee.ts";
import { listNames } from "./list.ts";
import { endLease, keepLease, openLease } from "./keep.ts";
import { lookAt, showNext, showNodeless } from "./look.ts";
import { countKey, memoRoot, readMemos, writeMemo } from "./memos.ts";
import { outcomeOf } from "./refusals.ts";
import { standSentries } from "./sentry.ts";
import { joinAll, leaveAll } from "./stand.ts";

/** One process opens fewer sessions than this while the answer to an opening can still matter. */
const NONCES_REMEMBERED = 1000;

export class EtcdStore implements FencedStore, KeepsMemos, ListsNames, ShowsNext, ShowsNodeless, Reopenable {
  /** The guarantee of any supported version. The promises of the version that was met come with an opened session. */
  readonly guarantee: Guarantee<"fenced"> = anyVersion();
  readonly #client: EtcdClient;
  readonly #prefix: string;
  readonly #granted = new Recent<string, true>(NONCES_REMEMBERED);
  readonly #mailboxes = new Mailboxes();

  constructor(client: EtcdClient) {
    this.#client = client;
    this.#prefix = client.address.prefix;
  }

  /** It may carry a password: not a field, so that it is not printed with the object. */
  get url(): string {
    return this.#client.address.url;
  }

  async keep(session: Session | SessionSpec, holds: readonly Hold[], call: Call, wish: KeepWish = {}): Promise<Kept> {
    if ("id" in session)
      return await this.#with(call, (link, signal) => keepLease(link, this.#prefix, session, holds, wish, signal));
    const { nonce } = session;
    const kept = await this.#with(call, (link, signal) =>
      openLease(link, this.#prefix, session, this.#granted.has(nonce), signal),
    );
    if (kept.kind !== "kept") return kept;
    this.#granted.set(nonce, true);
    return { ...kept, met: metAt(this.#client.oldestSeen) };
  }

  async claim(claims: readonly Claim[], call: Call): Promise<readonly Claimed[]> {
    const answer = await this.#with(call, async (link, signal) => ({
      kind: "claimed" as const,
      claimed: await joinAll(link, this.#prefix, claims, signal),
    }));
    return answer.kind === "claimed" ? answer.claimed : claims.map(() => answer);
  }

  async release({ session, holds, endSession }: Will, call: Call): Promise<Released> {
    return await this.#with(call, async (link, signal) => {
      if (endSession) await endLease(link, session, signal);
      else await leaveAll(link, this.#prefix, session, holds, signal);
      return { kind: "released" as const };
    });
  }

  async look(questions: readonly Question[], call: Call): Promise<Looked> {
    const [only, another] = questions;
    const keys = only !== undefined && another === undefined ? `${this.#prefix}${only.name}/` : this.#prefix;
    const ask = async (link: EtcdLink, signal: StopSignal): Promise<Looked> => ({
      kind: "seen",
      seats: await lookAt(link, this.#prefix, questions, signal),
    });
    return await this.#with(call, ask, keys);
  }

  async showNext(name: Name, token: Token, call: Call): Promise<ShownNext> {
    const ask = (link: EtcdLink, signal: StopSignal): Promise<ShownNext> =>
      showNext(link, this.#prefix, name, token, signal);
    return await this.#with(call, ask, `${this.#prefix}${name}/`);
  }

  async showNodeless(name: Name, call: Call): Promise<ShownNodeless> {
    return await this.#with(call, (link, signal) => showNodeless(link, this.#prefix, name, signal));
  }

  async writeMemo(write: MemoWrite, call: Call): Promise<MemoWritten> {
    const ask = (link: EtcdLink, signal: StopSignal): Promise<MemoWritten> =>
      writeMemo(link, this.#prefix, write, signal);
    return await this.#withMemos(call, write.hold.name, ask);
  }

  async readMemos(name: Name, key: string | undefined, call: Call): Promise<MemosRead> {
    const ask = (link: EtcdLink, signal: StopSignal): Promise<MemosRead> =>
      readMemos(link, this.#prefix, name, key, signal);
    return await this.#withMemos(call, name, ask);
  }

  async listNames(most: number, call: Call): Promise<ListedNames> {
    return await this.#with(call, (link, signal) => listNames(link, this.#prefix, most, signal));
  }

  watch(questions: readonly Question[], call: Call): AsyncIterable<Hint> {
    return this.#mailboxes.watch(call.signal, (mailbox) => {
      const over = new AbortController();
      setMaxListeners(0, over.signal);
      const stops = new Set<() => void>();
      this.#postSentries(questions, mailbox, over.signal, stops).catch(() => mailbox.end());
      return () => {
        over.abort(NOT_WANTED);
        for (const stop of stops) stop();
      };
    });
  }

  async #postSentries(
    questions: readonly Question[],
    mailbox: Mailbox,
    signal: StopSignal,
    stops: Set<() => void>,
  ): Promise<void> {
    const link = await this.#client.link(signal);
    const post = {
      link,
      prefix: this.#prefix,
      signal,
      stops,
      hint: (hint: Hint) => mailbox.put(hint),
      end: () => mailbox.end(),
    };
    await standSentries(post, questions);
  }

  async close(): Promise<void> {
    this.#mailboxes.endAll();
    this.#client.close();
  }

  /** The error about a missing right names all keys that memos of this name need, so that one change of the role is enough. */
  #withMemos<A>(
    call: Call,
    name: Name,
    ask: (link: EtcdLink, signal: StopSignal) => Promise<A>,
  ): Promise<A | Refused | Unknown> {
    return this.#with(call, ask, memoRoot(this.#prefix, name), countKey(this.#prefix, name));
  }

  async #with<A>(
    call: Call,
    ask: (link: EtcdLink, signal: StopSignal) => Promise<A>,
    keys = this.#prefix,
    alone?: string,
  ): Promise<A | Refused | Unknown> {
    if (isGivenUp(call)) return unknown(call.signal.reason);
    const signal = stopSignalOf(call);
    try {
      return await ask(await this.#client.link(signal), signal);
    } catch (error) {
      return outcomeOf(error, keys, alone);
    }
  }
}
