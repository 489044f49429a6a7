// The sessions that this process has at ZooKeeper: those of candidates, which only their own requests keep alive, and one of the driver's own for looking on, which
// pings by itself. A look must extend nothing, so it never goes over a candidate's connection.
//
// The entries of a candidate's session are remembered (path and token of each), so that a keep can name them without looking for them. A session that this
// process has not opened is taken over with its password. In this way a process that releases for a dead one ends its session.
import { Refusal } from "../../base/refusal.ts";
import { Recent } from "../../base/recent.ts";
import { renewed } from "../../base/worn-map.ts";
import type { StopSignal } from "../../clients/stop-signal.ts";
import type { ZooKeeperAddress } from "../../clients/zookeeper/address.ts";
import { ZooKeeperClient } from "../../clients/zookeeper/client.ts";
import type { Acl, Part } from "../../clients/zookeeper/messages.ts";
import type { ZooKeeperSession } from "../../clients/zookeeper/session.ts";
import { tickMsIn, versionIn } from "../../clients/zookeeper/four-letter-words.ts";
import type { Bid, Met, Name, Refused, Session, SessionSpec } from "../contract.ts";
import { enrol, type SessionPass } from "./bans.ts";
import { findDomain } from "./domain.ts";
import { LEAST_TICKS, proofOf } from "./guarantee.ts";
import { ZooKeeperLink } from "./link.ts";
import { idOfSession, sessionOfId } from "./record.ts";

export interface ZooKeeperOwnEntry {
  readonly bid: Bid;
  readonly path: string;
  readonly czxid: bigint;
  /** The value as it was last written. */
  readonly value: string | undefined;
  /** Parts of a multi that are accepted only while the entry is there. */
  readonly checks: readonly Part[];
}

/** This many lines are remembered, for locks that are taken again and again. */
const LINES_REMEMBERED = 10_000;

/** A candidate's session, and its entries in lines. */
export class HeldSession {
  readonly session: ZooKeeperSession;
  /** The id of the session as it stands in the names of its entries. */
  readonly id: string;
  #entries = new Map<Name, ZooKeeperOwnEntry>();
  #noted = 0;
  /** Names for which the answer to a try is not known: there may be more entries than are remembered. */
  readonly doubted: Set<Name> = new Set();
  /** The pass of a session that speaks for a node. Undefined if it speaks for none, or if another process has opened it and the pass is not read yet. */
  pass: SessionPass | undefined;

  #pathBytes = 0;
  readonly #listed = new Recent<Name, true>(LINES_REMEMBERED);

  constructor(session: ZooKeeperSession, pass?: SessionPass) {
    this.session = session;
    this.id = idOfSession(session.id);
    this.pass = pass;
  }

  /** The session has listed the children of this name, and they could be judged. */
  noteListed(name: Name): void {
    this.#listed.set(name, true);
  }

  /** True if the session has listed the line before, and has no entry there and no try that may have made one. */
  isClear(name: Name): boolean {
    return this.#listed.has(name) && !this.doubted.has(name) && !this.#entries.has(name);
  }

  /** The bytes of all its paths: a server writes them into one record when the session ends. */
  get pathBytes(): number {
    return this.#pathBytes;
  }

  get count(): number {
    return this.#entries.size;
  }

  entry(name: Name): ZooKeeperOwnEntry | undefined {
    return this.#entries.get(name);
  }

  note(name: Name, entry: ZooKeeperOwnEntry): void {
    this.forget(name);
    this.#entries = renewed(this.#entries, ++this.#noted).set(name, entry);
    this.#pathBytes += bytesOf(entry);
  }

  forget(name: Name): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    this.#entries.delete(name);
    this.#pathBytes -= bytesOf(entry);
  }
}

/** When a session ends, a server writes the paths of its entries into one record, and cannot write more than 1 MB. A session that had more took the ensemble's leader down. */
const MOST_PATH_BYTES = 900_000;

/** Throws a Refusal if the session can have no more entries. */
export function checkRoom(held: HeldSession, path: string): void {
  if (held.pathBytes + Buffer.byteLength(path) <= MOST_PATH_BYTES) return;
  const message = `zookeeper: the session has ${held.count} entries, and their paths together are as long as a server can remove at once. Nothing was written. Use shorter names, or several candidates: each has a session of its own.`;
  throw new Refusal("STORE_FULL", message);
}

/** The bytes of a path with its length before it, as a server writes it. */
function bytesOf({ path }: ZooKeeperOwnEntry): number {
  return Buffer.byteLength(path) + 4;
}

/** One process opens fewer sessions than this while the answer to an opening can still matter. */
const NONCES_REMEMBERED = 1000;
const ONLOOKER_TIMEOUT_MS = 30_000;
/** The shortest time between two pings, however short the ttl: a server that is busy for a moment is no reason to set every watch anew. */
const LEAST_BEAT_MS = 1_000;
const OLDEST = [3, 6] as const;

export class Sessions {
  readonly #address: ZooKeeperAddress;
  readonly #acl: readonly Acl[];
  readonly #tickMs: number;
  readonly #held = new Map<string, HeldSession>();
  readonly #nonces = new Recent<string, Session>(NONCES_REMEMBERED);
  #onlooker: Promise<ZooKeeperSession> | undefined;
  /** How often the onlooker pings. Hints come over its connection: if the connection went dead silently, a candidate would keep waiting for a name that is free. */
  #beatMs = Infinity;
  #domain: string | undefined;
  #server: string | undefined;
  #toldTickMs: number | undefined;

  constructor(address: ZooKeeperAddress, acl: readonly Acl[], tickMs: number) {
    this.#address = address;
    this.#acl = acl;
    this.#tickMs = tickMs;
  }

  /** The answer to an opening with this nonce. */
  opened(nonce: string): Session | undefined {
    return this.#nonces.get(nonce);
  }

  async open(spec: SessionSpec, signal: StopSignal): Promise<Session | Refused> {
    const client = this.#client();
    const session = await client.begin(spec.ttlMs, signal);
    const { timeoutMs: ttlMs } = session;
    const [id, secret] = [idOfSession(session.id), session.password.toString("hex")];
    try {
      await this.#examine(client, session, signal);
      const { node } = spec;
      const enrolled =
        node && (await enrol(await this.link(session, signal), this.#address.chroot, node, { id, ttlMs, secret }));
      if (enrolled?.kind === "refused") {
        // Nobody else knows of this session, and nothing is bound to it.
        await session.end(signal).catch(() => session.leave());
        return enrolled;
      }
      this.#held.set(id, new HeldSession(session, enrolled?.pass));
    } catch (error) {
      session.leave();
      throw error;
    }
    this.#beatFor(ttlMs);
    const opened = { id, candidate: spec.candidate, ttlMs, secret };
    this.#nonces.set(spec.nonce, opened);
    return opened;
  }

  /** Ends any session, with every node that is bound to it. A session that is already over counts as ended. */
  async endAny(session: Pick<Session, "id" | "secret" | "ttlMs">, signal: StopSignal): Promise<void> {
    const held = await this.find(session, signal);
    await held?.session.end(signal);
    this.#held.delete(session.id);
  }

  /** The session, if this process has it and it is not known to be over. */
  known({ id }: Pick<Session, "id">): HeldSession | undefined {
    const held = this.#held.get(id);
    return held?.session.isOver === false ? held : undefined;
  }

  /** Undefined if the session is over. A session that this process does not have is taken over. */
  async find(
    { id, secret, ttlMs }: Pick<Session, "id" | "secret" | "ttlMs">,
    signal: StopSignal,
  ): Promise<HeldSession | undefined> {
    const known = this.known({ id });
    if (known !== undefined) return known;
    if (this.#held.delete(id)) return undefined;
    const sessionId = sessionOfId(id);
    if (sessionId === undefined || secret === undefined || !/^[0-9a-f]{32}$/.test(secret)) return undefined;
    const attached = await this.#client().attach(sessionId, Buffer.from(secret, "hex"), ttlMs, signal);
    if (attached === undefined) return undefined;
    const found = new HeldSession(attached);
    this.#held.set(id, found);
    return found;
  }

  async link(session: ZooKeeperSession, signal: StopSignal): Promise<ZooKeeperLink> {
    const connection = session.openConnection ?? (await session.connection(signal));
    return new ZooKeeperLink(session, connection, this.#acl, signal);
  }

  /** The connection for all requests that belong to no candidate. */
  async onlooker(signal: StopSignal): Promise<ZooKeeperLink> {
    const session = await (this.#onlooker ??= this.#beginOnlooker(signal));
    if (session.isOver) {
      this.#onlooker = undefined;
      return await this.onlooker(signal);
    }
    try {
      return await this.link(session, signal);
    } catch (error) {
      if (session.isOver) return await this.onlooker(signal);
      throw error;
    }
  }

  async domain(link: ZooKeeperLink): Promise<string> {
    return (this.#domain ??= await findDomain(link, this.#address.chroot));
  }

  /** The facts that the connected server has told. If it tells its tick, that counts in place of the option. */
  get met(): Met {
    return { server: this.#server ?? "ZooKeeper", ...proofOf(this.#toldTickMs ?? this.#tickMs) };
  }

  /** Checks whether the server of this session is suitable. It is asked once; a server that does not answer this is accepted. All servers of an ensemble have the same tick. */
  async #examine(client: ZooKeeperClient, session: ZooKeeperSession, signal: StopSignal): Promise<void> {
    if (this.#server !== undefined) return this.#checkTicks(session);
    const { endpoint } = await session.connection(signal);
    const [srvr, conf] = await Promise.all([
      client.word(endpoint, "srvr", signal),
      client.word(endpoint, "conf", signal),
    ]);
    const version = versionIn(srvr);
    if (version !== undefined && isOlder(version)) throw tooOld(version);
    this.#toldTickMs = tickMsIn(conf);
    this.#checkTicks(session);
    this.#server = version === undefined ? "ZooKeeper" : `ZooKeeper ${version}`;
  }

  #checkTicks({ timeoutMs }: ZooKeeperSession): void {
    const told = this.#toldTickMs;
    if (told !== undefined && timeoutMs < LEAST_TICKS * told) throw tooFewTicks(timeoutMs, told);
  }

  /** Closes connections. Sessions expire by themselves, or are ended by a release. */
  close(): void {
    for (const { session } of this.#held.values()) session.leave();
    this.#held.clear();
    const onlooker = this.#onlooker;
    this.#onlooker = undefined;
    onlooker?.then((session) => session.end(AbortSignal.timeout(500)).catch(() => session.leave())).catch(() => {});
  }

  async #beginOnlooker(signal: StopSignal): Promise<ZooKeeperSession> {
    try {
      const session = await this.#client().begin(ONLOOKER_TIMEOUT_MS, signal);
      session.stayAlive(this.#beatMs);
      return session;
    } catch (error) {
      this.#onlooker = undefined;
      throw error;
    }
  }

  /** Pings three times in a ttl, as candidates renew, so that a dead connection is noticed before a ttl is over. */
  #beatFor(ttlMs: number): void {
    this.#beatMs = Math.min(this.#beatMs, Math.max(LEAST_BEAT_MS, ttlMs / 3));
    void this.#onlooker?.then((session) => session.stayAlive(this.#beatMs)).catch(() => {}); // the onlooker is begun again
  }

  /** Each session begins at another server, so that a fleet does not depend on one. */
  #client(): ZooKeeperClient {
    return new ZooKeeperClient(
      this.#address,
      process.getBuiltinModule("node:crypto").randomInt(this.#address.endpoints.length),
    );
  }
}

function isOlder(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
}

function tooOld(version: string): Refusal {
  return new Refusal("STORE_UNSUPPORTED", `zookeeper: ZooKeeper ${version} is older than 3.6, which is needed.`);
}

function tooFewTicks(ttlMs: number, tickMs: number): Refusal {
  const message = `zookeeper: the server's tickTime is ${tickMs} ms, as it says itself, and a ttl has at least ${LEAST_TICKS} ticks: the ${ttlMs} ms that it has granted are too few. Set ttlMs to ${LEAST_TICKS * tickMs} or more, and tickMs to ${tickMs} (?tickMs=${tickMs} in the URL).`;
  return new Refusal("STORE_UNSUPPORTED", message);
}
