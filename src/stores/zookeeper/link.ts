// The requests that the parts of this driver send over one connection: ZooKeeper's requests by name, on the session that they belong to. Requests that are sent without waiting
// for the one before take one round trip: a connection answers in order, and a read that follows a write of the same connection sees it.
import type { ZooKeeperConnection, ZooKeeperReply } from "../../clients/zookeeper/connection.ts";
import { isProblem } from "../../clients/zookeeper/errors.ts";
import type { JuteReader } from "../../clients/zookeeper/jute.ts";
import {
  type Acl,
  ANY,
  type Children,
  type Created,
  createRequest,
  deleteRequest,
  existsRequest,
  getChildrenRequest,
  getDataRequest,
  getEphemeralsRequest,
  multiRequest,
  type NodeData,
  type Part,
  type PartAnswer,
  readChildren,
  readCreated,
  readData,
  readMulti,
  readStat,
  readTexts,
  setDataRequest,
  type Stat,
  syncRequest,
  type ZooKeeperRequest,
} from "../../clients/zookeeper/messages.ts";
import type { ZooKeeperSession } from "../../clients/zookeeper/session.ts";
import type { StopSignal } from "../../clients/stop-signal.ts";

export class ZooKeeperLink {
  readonly connection: ZooKeeperConnection;
  readonly signal: StopSignal;
  readonly acl: readonly Acl[];
  readonly #session: ZooKeeperSession;

  constructor(session: ZooKeeperSession, connection: ZooKeeperConnection, acl: readonly Acl[], signal: StopSignal) {
    this.#session = session;
    this.connection = connection;
    this.acl = acl;
    this.signal = signal;
  }

  get road(): string {
    return this.#session.road(this.connection);
  }

  async create(path: string, data: Uint8Array, flags: number): Promise<Created> {
    return (await this.#ask(createRequest(path, data, this.acl, flags), readCreated)).answer;
  }

  async setData(path: string, data: Uint8Array, version: number = ANY): Promise<Stat> {
    return (await this.#ask(setDataRequest(path, data, version), readStat)).answer;
  }

  /** A node that is already gone counts as deleted. */
  async delete(path: string): Promise<void> {
    await this.#find(deleteRequest(path), () => undefined);
  }

  /** Undefined if there is no such node. With `watch`, the next change of the node, or its creation, is reported. */
  async exists(path: string, watch = false): Promise<Stat | undefined> {
    return (await this.#find(existsRequest(path, watch), readStat))?.answer;
  }

  /** Undefined if there is no such node: then nothing is watched. */
  async data(path: string, watch = false): Promise<NodeData | undefined> {
    return (await this.#find(getDataRequest(path, watch), readData))?.answer;
  }

  /** Returns the children with the latest write that the server has shown. If the names are undefined, there is no such node, and nothing is watched. */
  async children(
    path: string,
    watch = false,
  ): Promise<{ readonly found: Children | undefined; readonly zxid: bigint }> {
    const reply = await this.#find(getChildrenRequest(path, watch), readChildren);
    return { found: reply?.answer, zxid: reply?.zxid ?? this.connection.lastZxid };
  }

  /** Later reads on this connection show what other clients have written, as far as the leader of the ensemble knew when it was asked. */
  async sync(path: string): Promise<void> {
    await this.#ask(syncRequest(path), (reader) => reader.text());
  }

  /** Sends a write, and returns its number too. A majority has agreed to it, even if a part of it was refused. */
  async multi(
    path: string,
    parts: readonly Part[],
  ): Promise<{ readonly answers: readonly PartAnswer[]; readonly zxid: bigint }> {
    const { answer, zxid } = await this.#ask(multiRequest(path, parts), readMulti);
    return { answers: answer, zxid };
  }

  /** The paths of nodes that end with this session. */
  async ephemerals(path: string): Promise<readonly string[]> {
    return (await this.#ask(getEphemeralsRequest(path), readTexts)).answer;
  }

  #ask<A>(request: ZooKeeperRequest, read: (reader: JuteReader) => A): Promise<ZooKeeperReply<A>> {
    return this.#session.askOn(this.connection, request, read, this.signal);
  }

  /** Undefined if there is no such node. */
  async #find<A>(request: ZooKeeperRequest, read: (reader: JuteReader) => A): Promise<ZooKeeperReply<A> | undefined> {
    try {
      return await this.#ask(request, read);
    } catch (error) {
      if (isProblem(error, "no-node")) return undefined;
      throw error;
    }
  }
}
