// The requests that the parts of this driver send over one connection: ZooKeeper's requests by name, on the session that they belong to. Requests that are sent without waiting
// for the one before take one round trip: a connection answers in order, and a read that follows a write of the same connection sees it.
import type { Connection, ZooKeeperReply } from "../../clients/zookeeper/connection.ts";
import { isProblem } from "../../clients/zookeeper/errors.ts";
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
} from "../../clients/zookeeper/messages.ts";
import type { ZooKeeperSession } from "../../clients/zookeeper/session.ts";

export class Link {
  readonly connection: Connection;
  readonly signal: AbortSignal;
  readonly acl: readonly Acl[];
  readonly #session: ZooKeeperSession;

  constructor(session: ZooKeeperSession, connection: Connection, acl: readonly Acl[], signal: AbortSignal) {
    this.#session = session;
    this.connection = connection;
    this.acl = acl;
    this.signal = signal;
  }

  get road(): string {
    return this.#session.road(this.connection);
  }

  async create(path: string, data: Uint8Array, flags: number): Promise<Created> {
    return (
      await this.#ask((connection) =>
        connection.ask(createRequest(path, data, this.acl, flags), readCreated, this.signal),
      )
    ).answer;
  }

  async setData(path: string, data: Uint8Array, version: number = ANY): Promise<Stat> {
    return (await this.#ask((connection) => connection.ask(setDataRequest(path, data, version), readStat, this.signal)))
      .answer;
  }

  /** A node that is already gone counts as deleted. */
  async delete(path: string): Promise<void> {
    try {
      await this.#ask((connection) => connection.ask(deleteRequest(path), () => undefined, this.signal));
    } catch (error) {
      if (!isProblem(error, "no-node")) throw error;
    }
  }

  /** Undefined if there is no such node. With `watch`, the next change of the node, or its creation, is reported. */
  exists(path: string, watch = false): Promise<Stat | undefined> {
    return this.#find((connection) => connection.ask(existsRequest(path, watch), readStat, this.signal));
  }

  /** Undefined if there is no such node: then nothing is watched. */
  data(path: string, watch = false): Promise<NodeData | undefined> {
    return this.#find((connection) => connection.ask(getDataRequest(path, watch), readData, this.signal));
  }

  /** Returns the children with the latest write that the server has shown. If the names are undefined, there is no such node, and nothing is watched. */
  async children(
    path: string,
    watch = false,
  ): Promise<{ readonly found: Children | undefined; readonly zxid: bigint }> {
    const found = await this.#find(async (connection) => {
      const { answer, zxid } = await connection.ask(getChildrenRequest(path, watch), readChildren, this.signal);
      return { answer: { found: answer, zxid }, zxid };
    });
    return found ?? { found: undefined, zxid: this.connection.lastZxid };
  }

  /** Later reads on this connection show what other clients have written, as far as the leader of the ensemble knew when it was asked. */
  async sync(path: string): Promise<void> {
    await this.#ask((connection) => connection.ask(syncRequest(path), (reader) => reader.text(), this.signal));
  }

  /** Sends a write, and returns its number too. A majority has agreed to it, even if a part of it was refused. */
  async multi(
    path: string,
    parts: readonly Part[],
  ): Promise<{ readonly answers: readonly PartAnswer[]; readonly zxid: bigint }> {
    const { answer, zxid } = await this.#ask((connection) =>
      connection.ask(multiRequest(path, parts), readMulti, this.signal),
    );
    return { answers: answer, zxid };
  }

  /** The paths of nodes that end with this session. */
  async ephemerals(path: string): Promise<readonly string[]> {
    return (await this.#ask((connection) => connection.ask(getEphemeralsRequest(path), readTexts, this.signal))).answer;
  }

  #ask<A>(use: (connection: Connection) => Promise<ZooKeeperReply<A>>): Promise<ZooKeeperReply<A>> {
    return this.#session.on(this.connection, use);
  }

  async #find<A>(use: (connection: Connection) => Promise<ZooKeeperReply<A>>): Promise<A | undefined> {
    try {
      return (await this.#ask(use)).answer;
    } catch (error) {
      if (isProblem(error, "no-node")) return undefined;
      throw error;
    }
  }
}
