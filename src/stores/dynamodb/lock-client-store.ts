// The six methods of the contract in the layout of the Amazon DynamoDB Lock Client: a race in which each record is renewed by itself, and rivals judge silence. A fleet may
// be mixed: a Java candidate and one of ours exclude each other, as safely as the Java client does.
//
// Why at most one holds a name. A claim replaces exactly the version number that it has read, or an item that is marked as released, or none. A holder renews by a new
// version number, under the condition that it is the owner still. Version numbers are random and never come back, so a late claim finds another one.
// There is no session: it is a nonce, ends nothing, and what its process still has on its way may be applied. There is no token: their client replaces or deletes the
// item, and any counter in it.
import type { Refused, Unknown } from "../../base/outcome.ts";
import type {
  Call,
  Claim,
  Claimed,
  Hint,
  Hold,
  Kept,
  Looked,
  Name,
  Question,
  Released,
  Session,
  SessionSpec,
  UnfencedStore,
  Will,
} from "../contract.ts";
import { stopSignalOf } from "../call.ts";
import { VACANT } from "../contract.ts";
import { grantedMs } from "../granted-ttl.ts";
import { Mailboxes } from "../mailbox.ts";
import type { DynamoTable, Item, Written } from "../../clients/dynamodb/client.ts";
import { freshId } from "../../clients/random.ts";
import { inTurns } from "./in-turns.ts";
import { LOCK_CLIENT_GUARANTEE } from "./guarantee.ts";
import { itemOf, type LockItem, ownerOf, readLock, seatOf, versionOf } from "./lock-item.ts";
import { foreignTable, globalTable, outcomeOf, overtaken, type DynamoWhereabouts } from "./refusals.ts";

const RELEASED: Item = { ":released": { S: "1" } };
const IS_MINE = "#ownerName = :owner AND attribute_not_exists(#isReleased)";

export class LockClientStore implements UnfencedStore {
  readonly guarantee: typeof LOCK_CLIENT_GUARANTEE;
  readonly #table: DynamoTable;
  readonly #where: DynamoWhereabouts;
  readonly #mailboxes = new Mailboxes();

  constructor(table: DynamoTable, where: DynamoWhereabouts, lookMs: number | undefined) {
    this.guarantee = lookMs === undefined ? LOCK_CLIENT_GUARANTEE : { ...LOCK_CLIENT_GUARANTEE, lookMs };
    this.#table = table;
    this.#where = where;
  }

  async keep(session: Session | SessionSpec, holds: readonly Hold[], call: Call): Promise<Kept> {
    if ("nonce" in session) return await this.#outcome(() => this.#open(session, call));
    const renewed = await inTurns(holds, (hold) => this.#outcome(() => this.#renew(session, hold, call)));
    const failed = renewed.filter((each) => typeof each !== "boolean");
    if (failed.length > 0 && failed.length === holds.length && failed[0] !== undefined) return failed[0];
    const { id, candidate, ttlMs } = session;
    return {
      kind: "kept",
      session: { id, candidate, ttlMs },
      lost: holds.filter((_, index) => renewed[index] === false),
      unsure: holds.filter((_, index) => typeof renewed[index] !== "boolean"),
      strays: [],
    };
  }

  /** Nothing is written: the session is its nonce. */
  async #open({ nonce, candidate, ttlMs }: SessionSpec, call: Call): Promise<Kept> {
    const { keys, isGlobal } = await this.#table.describe(stopSignalOf(call));
    const { keyName } = this.#table;
    if (isGlobal) throw globalTable(this.#where);
    if (keys.join() !== `${keyName} S`)
      throw foreignTable(`its key is ${keys.join(" and ")}, not ${keyName} S alone`, this.#where);
    const session = { id: nonce, candidate, ttlMs: grantedMs(ttlMs, this.guarantee.ttl) };
    return { kind: "kept", session, lost: [], unsure: [], strays: [] };
  }

  /** False if the name is another's, or gone. */
  async #renew({ candidate, ttlMs }: Session, { name, bid }: Hold, call: Call): Promise<boolean> {
    const rvn = freshId();
    const written = await this.#table.change(
      {
        key: name,
        condition: IS_MINE,
        update: "SET #leaseDuration = :lease, #recordVersionNumber = :version",
        values: {
          ":owner": { S: ownerOf(candidate, bid) },
          ":lease": { S: `${ttlMs}` },
          ":version": { S: rvn },
        },
      },
      stopSignalOf(call),
    );
    return isApplied(written, rvn);
  }

  async claim(claims: readonly Claim[], call: Call): Promise<readonly Claimed[]> {
    const read = await this.#outcome(async () => {
      const locks = await this.#locks(
        claims.map(({ name }) => name),
        call,
      );
      return { kind: "read" as const, locks };
    });
    if (read.kind !== "read") return claims.map(() => read);
    return await inTurns(claims, (claim, index) => this.#outcome(() => this.#claim(claim, read.locks[index], call)));
  }

  async #claim(claim: Claim, lock: LockItem | undefined, call: Call): Promise<Claimed> {
    const { name, bid, session, value } = claim;
    const owner = ownerOf(session.candidate, bid);
    if (lock?.owner === owner && !lock.isReleased) return await this.#announce(claim, lock, call);
    if (!mayReplace(claim, owner, lock)) return { kind: "beaten", seat: seatOf(name, lock) };
    const rvn = freshId();
    const item = itemOf(owner, session.ttlMs, rvn, value);
    const written = await this.#table.put(name, item, this.#over(lock), stopSignalOf(call));
    if (isApplied(written, rvn)) return { kind: "granted", hold: { name, bid } };
    const standing = written.kind === "conflict" ? written.item : undefined;
    return { kind: "beaten", seat: seatOf(name, readLock(name, standing, this.#where)) };
  }

  /** The conditions are those of their client, with the version number in each. */
  #over(lock: LockItem | undefined): {
    readonly condition: string;
    readonly values: Item;
    readonly names?: Record<string, string>;
  } {
    const names = { "#name": this.#table.keyName };
    if (lock === undefined) return { condition: "attribute_not_exists(#name)", values: {}, names };
    const isReleased = lock.isReleased ? " AND #isReleased = :released" : "";
    return {
      condition: `attribute_exists(#name) AND #recordVersionNumber = :seen${isReleased}`,
      values: { ":seen": { S: lock.rvn }, ...(lock.isReleased ? RELEASED : {}) },
      names,
    };
  }

  /** The name is this claim's already: its value is written, if it is another one. */
  async #announce({ name, bid, value }: Claim, lock: LockItem, call: Call): Promise<Claimed> {
    if (lock.value !== value) {
      const rvn = freshId();
      const item = itemOf(lock.owner, lock.ttlMs, rvn, value);
      const when = { condition: IS_MINE, values: { ":owner": { S: lock.owner } } };
      if (!isApplied(await this.#table.put(name, item, when, stopSignalOf(call)), rvn)) throw overtaken(name);
    }
    return { kind: "granted", hold: { name, bid } };
  }

  release({ session, holds }: Will, call: Call): Promise<Released> {
    return this.#outcome(async () => {
      await inTurns(holds, ({ name, bid }) =>
        this.#table.change(
          {
            key: name,
            condition: IS_MINE,
            update: "SET #isReleased = :released",
            values: { ...RELEASED, ":owner": { S: ownerOf(session.candidate, bid) } },
          },
          stopSignalOf(call),
        ),
      );
      return { kind: "released" };
    });
  }

  look(questions: readonly Question[], call: Call): Promise<Looked> {
    return this.#outcome(async () => {
      const names = questions.map(({ name }) => name);
      const locks = await this.#locks(names, call);
      return { kind: "seen", seats: names.map((name, index) => seatOf(name, locks[index])) };
    });
  }

  watch(_questions: readonly Question[], call: Call): AsyncIterable<Hint> {
    return this.#mailboxes.watch(call.signal, () => () => {});
  }

  async close(): Promise<void> {
    this.#mailboxes.endAll();
    this.#table.close();
  }

  async #locks(names: readonly Name[], call: Call): Promise<readonly (LockItem | undefined)[]> {
    const items = names.length === 0 ? [] : await this.#table.read(names, stopSignalOf(call));
    return names.map((name, index) => readLock(name, items[index], this.#where));
  }

  async #outcome<T>(act: () => Promise<T>): Promise<T | Refused | Unknown> {
    try {
      return await act();
    } catch (error) {
      return outcomeOf(error, this.#where);
    }
  }
}

/** True also if the client has tried it twice, and the first try was applied. */
function isApplied(written: Written, rvn: string): boolean {
  return written.kind === "written" || written.item?.["recordVersionNumber"]?.S === rvn;
}

/** Over VACANT an owner that has given the name back is not granted it again: that claim was applied before, and comes late. */
function mayReplace({ over }: Claim, owner: string, lock: LockItem | undefined): boolean {
  if (over === VACANT) return lock === undefined || (lock.isReleased && lock.owner !== owner);
  return over === versionOf(lock);
}
