// etcdFence: for data kept in etcd. The fence is a key beside the data. A write is one transaction that compares the fence's mod revision and writes only if it
// is still the one under which this token was admitted; so the check and the write are one step, whichever client sends it.
//
// THE ARGUMENT
//   one step   etcd applies a transaction at one revision. The fence's mod revision changes whenever another token is installed, and never comes back. So what is
//              written under a comparison with revision r is written while the token that was installed at r is the newest.
//   law 12     (raise, then read, then write) `raise` installs the token by such a transaction. Every write that an older leader has in flight compares an older revision from
//              then on. However late it arrives, it is refused, and nobody waits for it. So no older write changes what the leader reads after `raise` by a linearizable read.
//   unknown    A transaction without an answer may be applied later, under the same comparison. The caller is told STORE_TIMEOUT, not that it failed.
// Needs: every writer of the guarded keys writes through `write`, or compares what `raise` returned in a transaction of its own client.
import { ConclaveError, type ErrorCode } from "../base/errors.ts";
import { Recent } from "../base/recent.ts";
import { show } from "../base/show.ts";
import { passwordHidden } from "../base/url.ts";
import { parseAddress } from "../clients/etcd/address.ts";
import { EtcdClient } from "../clients/etcd/client.ts";
import { EtcdError, type EtcdProblem } from "../clients/etcd/errors.ts";
import { deniedReason } from "../clients/etcd/reasons.ts";
import type { Operation, TxnRequest, TxnResponse } from "../clients/etcd/messages.ts";
import { admit, adopted, type Adopted, type Lowering, type Move, moveDomain, type Remembered } from "./guard.ts";
import { prefixOf, resourceOf, textOf, tokenOf } from "./input.ts";
import { memoryOfText, textOfMemory } from "./memory-text.ts";
import { adoptByCommand, type HowToAdopt } from "./refusals.ts";
import { type Verifier, verifierOf, type Verifying } from "./signed.ts";
import type { Fenced, Signed } from "./token.ts";

const DEFAULT_PREFIX = "conclave-fence/";
const ANSWER_WITHIN_MS = 10_000;
/** etcd takes 128 operations in a transaction, and one of them is ours. */
const OPERATIONS_MAX = 127;

/** What a transaction of your own client compares: that the key's mod revision is this one. */
export interface EtcdCondition {
  readonly key: string;
  /** In decimal: it may exceed what a JavaScript number holds. */
  readonly modRevision: string;
}

/** One change of a guarded transaction. */
export type EtcdWrite =
  | { readonly put: string; readonly value: string | Uint8Array }
  /** One key. */
  | { readonly delete: string };

/** A guard for keys in etcd. */
export interface EtcdFence<By extends Fenced | Signed = Fenced> {
  /** For a new leader, before it reads: refuses an older token, else installs this one. Returns the condition for transactions of your own client. */
  raise(resource: string, by: By): Promise<EtcdCondition>;
  /** Makes all of `writes` in one transaction, or none, and refuses. */
  write(resource: string, by: By, writes: readonly EtcdWrite[]): Promise<void>;
  /** A linearizable read: after `raise`, nothing older changes what it shows. */
  read(key: string): Promise<string | undefined>;
  /** After a deliberate move to another store: tokens of the old domain stay refused. Or a repair, after a token that no store has granted. */
  adopt(resource: string, move: Move | Lowering): Promise<Adopted>;
  /** Closes the connection. The next call opens it anew. */
  close(): Promise<void>;
}

/** Options of `etcdFence`. */
export interface EtcdFenceOptions {
  /** The prefix of the fence's keys. @default "conclave-fence/" */
  readonly prefix?: string | undefined;
}

/** The same as the other form, for signed tokens. */
export function etcdFence(url: string | readonly string[], options: EtcdFenceOptions & Verifying): EtcdFence<Signed>;
/** Takes the same URLs as `etcd(…)`. Data and fence must be in one cluster; the election may be anywhere. */
export function etcdFence(url: string | readonly string[], options?: EtcdFenceOptions): EtcdFence;
export function etcdFence(
  url: string | readonly string[],
  options: EtcdFenceOptions & Partial<Verifying> = {},
): EtcdFence<Fenced | Signed> {
  const verifier = verifierOf("etcdFence", options, ["prefix"]);
  const prefix = prefixOf("etcdFence", options?.prefix, DEFAULT_PREFIX);
  return new KeyFence(new EtcdClient(parseAddress(url)), prefix, verifier);
}

/** What the fence's key holds, and at which revision. 0: it is not there. */
interface Known {
  readonly remembered: Remembered | undefined;
  readonly modRevision: bigint;
}

/** What the fence's key holds after a transaction, whether that put it there, and its mod revision. */
interface Changed {
  readonly after: Remembered;
  readonly isNew: boolean;
  readonly modRevision: bigint;
}

const NEVER_SEEN: Known = { remembered: undefined, modRevision: 0n };

/** How many resources are remembered. One that was forgotten is read once more. */
const RESOURCES_REMEMBERED = 10_000;

class KeyFence implements EtcdFence<Fenced | Signed> {
  readonly #client: EtcdClient;
  readonly #prefix: string;
  readonly #howToAdopt: HowToAdopt;
  /** The fence as last seen. If it is out of date, the comparison fails, and its answer shows what is there. */
  readonly #known = new Recent<string, Known>(RESOURCES_REMEMBERED);

  readonly #verifier: Verifier | undefined;

  constructor(client: EtcdClient, prefix: string, verifier: Verifier | undefined) {
    this.#verifier = verifier;
    this.#client = client;
    this.#prefix = `${client.address.prefix}${prefix}`;
    this.#howToAdopt = adoptByCommand([
      "--guard",
      passwordHidden(client.address.url),
      ...(prefix === DEFAULT_PREFIX ? [] : ["--prefix", prefix]),
    ]);
  }

  async raise(resource: string, by: Fenced | Signed): Promise<EtcdCondition> {
    const { modRevision } = await this.#admit(resource, by, []);
    return { key: this.#keyOf(resource), modRevision: `${modRevision}` };
  }

  async write(resource: string, by: Fenced | Signed, writes: readonly EtcdWrite[]): Promise<void> {
    if (!Array.isArray(writes)) throw noWrite();
    await this.#admit(resource, by, operationsOf(writes as readonly EtcdWrite[]));
  }

  async #admit(resource: string, by: Fenced | Signed, writes: readonly Operation[]): Promise<Changed> {
    const token = tokenOf(by, this.#verifier, resource);
    textOf(token);
    return await this.#change(resource, (before) => admit(resource, before, token, this.#howToAdopt), writes);
  }

  async adopt(resource: string, move: Move | Lowering): Promise<Adopted> {
    const { after, isNew } = await this.#change(resource, (before) => moveDomain(resource, before, move), []);
    return adopted(after, move, isNew);
  }

  async read(key: string): Promise<string | undefined> {
    if (typeof key !== "string")
      throw new ConclaveError("CONFIG_INVALID", `etcdFence: the key ${show(key)} is not a text.`);
    return await this.#ask(async (client, signal) => {
      const { kvs } = await (await client.link(signal)).range({ key: Buffer.from(key) }, signal);
      return kvs[0]?.value.toString("utf8");
    });
  }

  async close(): Promise<void> {
    this.#client.close();
  }

  #keyOf(resource: string): string {
    return `${this.#prefix}${resourceOf(resource)}`;
  }

  /** The change is repeated only while the comparison shows another fence than the one assumed; each time the rule is asked anew. */
  async #change(
    resource: string,
    next: (before: Remembered | undefined) => Remembered,
    writes: readonly Operation[],
  ): Promise<Changed> {
    const name = this.#keyOf(resource);
    if (writes.length > OPERATIONS_MAX)
      throw new ConclaveError(
        "CONFIG_INVALID",
        `etcdFence: ${writes.length} writes are more than etcd takes in one transaction (${OPERATIONS_MAX}).`,
      );
    const key = Buffer.from(name);
    let known = this.#known.get(name) ?? NEVER_SEEN;
    for (let isFresh = false; ; isFresh = true) {
      const after = rule(known.remembered, next, isFresh);
      if (after === "look first") {
        known = await this.#look(name, key);
        continue;
      }
      const { modRevision } = known;
      const isNew = after !== known.remembered;
      const install: Operation[] = isNew ? [{ put: { key, value: Buffer.from(textOfMemory(after)) } }] : [];
      const answer = await this.#txn({
        compare: [{ key, modRevision }],
        success: [...install, ...writes],
        failure: [{ range: { key } }],
      });
      known = answer.succeeded
        ? { remembered: after, modRevision: isNew ? answer.header.revision : modRevision }
        : readKnown(name, answer);
      this.#known.set(name, known);
      if (answer.succeeded) return { after, isNew, modRevision: known.modRevision };
    }
  }

  async #look(name: string, key: Buffer): Promise<Known> {
    return readKnown(name, await this.#txn({ compare: [], success: [{ range: { key } }], failure: [] }));
  }

  async #txn(request: TxnRequest): Promise<TxnResponse> {
    return await this.#ask(async (client, signal) => (await client.link(signal)).txn(request, signal));
  }

  async #ask<A>(ask: (client: EtcdClient, signal: AbortSignal) => Promise<A>): Promise<A> {
    try {
      return await ask(this.#client, AbortSignal.timeout(ANSWER_WITHIN_MS));
    } catch (error) {
      throw errorOf(error, this.#prefix);
    }
  }
}

/** A refusal by what is only remembered here may be out of date, because the fence may have been moved to another domain. */
function rule(
  before: Remembered | undefined,
  next: (before: Remembered | undefined) => Remembered,
  isFresh: boolean,
): Remembered | "look first" {
  try {
    return next(before);
  } catch (refusal) {
    if (isFresh) throw refusal;
    return "look first";
  }
}

/** etcd refuses a transaction that writes one key twice. */
function operationsOf(writes: readonly EtcdWrite[]): readonly Operation[] {
  const operations = writes.map(operationOf);
  const puts = writes.flatMap((write) => ("put" in write ? [write.put] : []));
  const removed = new Set(writes.flatMap((write) => ("put" in write ? [] : [write.delete])));
  const twice = puts.find((key, place) => removed.has(key) || puts.indexOf(key) < place);
  if (twice === undefined) return operations;
  const message = `etcdFence: ${show(twice)} is written twice, which etcd does not do in one step. Nothing was written.`;
  throw new ConclaveError("CONFIG_INVALID", message);
}

function operationOf(write: EtcdWrite): Operation {
  const { put, value, delete: removed } = Object(write) as Partial<Record<string, unknown>>;
  if (put === "" || removed === "") throw noWrite();
  if (typeof put === "string" && (typeof value === "string" || value instanceof Uint8Array))
    return { put: { key: Buffer.from(put), value: bytesOf(value) } };
  if (typeof removed !== "string" || put !== undefined) throw noWrite();
  return { delete: { key: Buffer.from(removed) } };
}

function noWrite(): ConclaveError {
  const message =
    'etcdFence: writes are a list, and each write is { put: "key", value: "text, or bytes" } or { delete: "key" }; a key is not empty. Nothing was written.';
  return new ConclaveError("CONFIG_INVALID", message);
}

function bytesOf(value: string | Uint8Array): Buffer {
  return typeof value === "string" ? Buffer.from(value, "utf8") : Buffer.from(value);
}

const CODES: Partial<Record<EtcdProblem, ErrorCode>> = { tls: "STORE_DENIED", "too-large": "STORE_FULL" };

function errorOf(error: unknown, keys: string): unknown {
  if (!(error instanceof EtcdError)) return error;
  if (error.outcome === "unknown")
    return new ConclaveError(
      "STORE_TIMEOUT",
      `etcdFence: ${error.message}. It may have been written, or may still be; read before you write again.`,
      { cause: error },
    );
  if (error.problem === "denied")
    return new ConclaveError("STORE_DENIED", `etcdFence: ${deniedReason(error.message, keys)}`, { cause: error });
  return new ConclaveError(
    CODES[error.problem] ?? "STORE_UNREACHABLE",
    `etcdFence: ${error.message}. Nothing was written.`,
    { cause: error },
  );
}

function readKnown(key: string, { responses }: TxnResponse): Known {
  const kv = responses[0]?.kvs[0];
  return kv === undefined
    ? { remembered: undefined, modRevision: 0n }
    : { remembered: memoryOfText(kv.value.toString("utf8"), () => edited(key)), modRevision: kv.modRevision };
}

function edited(key: string): ConclaveError {
  const message = `etcdFence: ${key} does not hold what a fence holds: somebody has edited it. Nothing was written. Put the newest token back, or use another prefix.`;
  return new ConclaveError("STORE_FOREIGN_DATA", message);
}
