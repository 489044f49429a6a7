// The requests that the parts of this driver send over one connection: ZooKeeper's requests by name, on the session that they belong to. Requests that are sent without waiting
// for the one before take one round trip: a connection answers in order, and a read that follows a write of the same connection sees it.
import type { AnswerReader, ZooKeeperConnection } from "../../clients/zookeeper/connection.ts";
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

  create(path: string, data: Uint8Array, flags: number): Promise<Created> {
    return this.#ask(createRequest(path, data, this.acl, flags), readCreated);
  }

  setData(path: string, data: Uint8Array, version: number = ANY): Promise<Stat> {
    return this.#ask(setDataRequest(path, data, version), readStat);
  }

  /** A node that is already gone counts as deleted. */
  delete(path: string): Promise<void> {
    return this.#ask(deleteRequest(path), () => {}).catch(ifNoNode);
  }

  /** Undefined if there is no such node. With `watch`, the next change of the node, or its creation, is reported. */
  exists(path: string, watch = false): Promise<Stat | undefined> {
    return this.#ask(existsRequest(path, watch), readStat).catch(ifNoNode);
  }

  /** Undefined if there is no such node: then nothing is watched. */
  data(path: string, watch = false): Promise<NodeData | undefined> {
    return this.#ask(getDataRequest(path, watch), readData).catch(ifNoNode);
  }

  /** Returns the children with the latest write that the server has shown. If the names are undefined, there is no such node, and nothing is watched. */
  children(path: string, watch = false): Promise<ListedChildren> {
    const listed = this.#ask<ListedChildren>(getChildrenRequest(path, watch), (reader, zxid) => ({
      found: readChildren(reader),
      zxid,
    }));
    return listed.catch((error: unknown) => ({ found: ifNoNode(error), zxid: this.connection.lastZxid }));
  }

  /** Later reads on this connection show what other clients have written, as far as the leader of the ensemble knew when it was asked. */
  sync(path: string): Promise<void> {
    return this.#ask(syncRequest(path), (reader) => void reader.text());
  }

  /** Sends a write, and returns its number too. A majority has agreed to it, even if a part of it was refused. */
  multi(
    path: string,
    parts: readonly Part[],
  ): Promise<{ readonly answers: readonly PartAnswer[]; readonly zxid: bigint }> {
    return this.#ask(multiRequest(path, parts), (reader, zxid) => ({ answers: readMulti(reader), zxid }));
  }

  /** The paths of nodes that end with this session. */
  ephemerals(path: string): Promise<readonly string[]> {
    return this.#ask(getEphemeralsRequest(path), readTexts);
  }

  #ask<A>(request: ZooKeeperRequest, read: AnswerReader<A>): Promise<A> {
    return this.connection.ask(request, read, this.signal);
  }
}

interface ListedChildren {
  readonly found: Children | undefined;
  readonly zxid: bigint;
}

/** Returns undefined if the error says that there is no such node. */
function ifNoNode(error: unknown): undefined {
  if (!isProblem(error, "no-node")) throw error;
}
