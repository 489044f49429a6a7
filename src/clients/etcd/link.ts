// etcd's methods over one connection, which leads to one member. A caller that needs two answers of the same member takes one link and uses it for both.
import type { StopSignal } from "../stop-signal.ts";
import type { User } from "../url-parts.ts";
import { type EtcdConnection, type Metadata } from "./connection.ts";
import { EtcdError, unreadable, wantsNewToken } from "./errors.ts";
import {
  authenticateRequest,
  deleteRequest,
  leaseGrantRequest,
  leaseRequest,
  putRequest,
  type PutRequest,
  type RangeRequest,
  rangeRequest,
  type RangeResponse,
  readKeepAlive,
  readLeaseGrant,
  readRange,
  readStatus,
  readTimeToLive,
  readTxn,
  type Header,
  type Status,
  type TimeToLive,
  timeToLiveRequest,
  type TxnRequest,
  txnRequest,
  type TxnResponse,
  readHeader,
} from "./messages.ts";
import { ProtobufMessage } from "./protobuf.ts";
import { WatchStream } from "./watch-stream.ts";

/** This is sent with every request: a member that knows of no leader refuses at once, instead of waiting for one. */
const LEADER_WANTED = { hasleader: "true" } as const;

export class EtcdLink {
  readonly connection: EtcdConnection;
  readonly #user: User | undefined;
  /**
   * The token stands for the password. Each connection has its own: a token names an index of the log, and a member that has not reached that index yet lets the request wait. A cluster that was restored
   * from a backup never reaches it.
   */
  #metadata: Metadata = LEADER_WANTED;
  /** Checking a password costs etcd 70 ms on purpose: callers that need a token meanwhile wait for the same one. */
  #coming: Promise<string | undefined> | undefined;
  #watches: WatchStream | undefined;

  constructor(connection: EtcdConnection, user: User | undefined) {
    this.connection = connection;
    this.#user = user;
  }

  async range(request: RangeRequest, signal: StopSignal): Promise<RangeResponse> {
    return await this.#call("/etcdserverpb.KV/Range", rangeRequest(request), signal, readRange);
  }

  async put(request: PutRequest, signal: StopSignal): Promise<Header> {
    return await this.#call("/etcdserverpb.KV/Put", putRequest(request), signal, readHeader);
  }

  async delete(request: Parameters<typeof deleteRequest>[0], signal: StopSignal): Promise<Header> {
    return await this.#call("/etcdserverpb.KV/DeleteRange", deleteRequest(request), signal, readHeader);
  }

  async txn(request: TxnRequest, signal: StopSignal): Promise<TxnResponse> {
    return await this.#call("/etcdserverpb.KV/Txn", txnRequest(request), signal, readTxn);
  }

  async grantLease(id: bigint, ttlSeconds: number, signal: StopSignal): Promise<ReturnType<typeof readLeaseGrant>> {
    return await this.#call(
      "/etcdserverpb.Lease/LeaseGrant",
      leaseGrantRequest(id, ttlSeconds),
      signal,
      readLeaseGrant,
    );
  }

  async revokeLease(id: bigint, signal: StopSignal): Promise<void> {
    await this.#call("/etcdserverpb.Lease/LeaseRevoke", leaseRequest(id), signal, readHeader);
  }

  /** This is a stream in etcd's API. Each call opens one for a single message: an answer can then only be the answer to this very request. */
  async keepAlive(id: bigint, signal: StopSignal): Promise<ReturnType<typeof readKeepAlive>> {
    return await this.#call("/etcdserverpb.Lease/LeaseKeepAlive", leaseRequest(id), signal, readKeepAlive);
  }

  async timeToLive(id: bigint, keys: boolean, signal: StopSignal): Promise<TimeToLive> {
    return await this.#call("/etcdserverpb.Lease/LeaseTimeToLive", timeToLiveRequest(id, keys), signal, readTimeToLive);
  }

  async status(signal: StopSignal): Promise<Status> {
    return await this.#call("/etcdserverpb.Maintenance/Status", Buffer.alloc(0), signal, readStatus);
  }

  /** Exchanges name and password for a token, if there are any and etcd wants them. */
  async authenticate(signal: StopSignal): Promise<void> {
    if (this.#user === undefined) return;
    this.#coming ??= this.#askToken(this.#user, signal).finally(() => (this.#coming = undefined));
    const token = await this.#coming;
    this.#metadata = token === undefined ? LEADER_WANTED : { ...LEADER_WANTED, token };
  }

  async #askToken({ name, password }: User, signal: StopSignal): Promise<string | undefined> {
    try {
      const request = authenticateRequest(name, password);
      const answer = await this.connection.unary("/etcdserverpb.Auth/Authenticate", request, LEADER_WANTED, signal);
      return decoded(answer, (message) => message.text(2));
    } catch (error) {
      // A password for an etcd without users is no mistake: authentication may be switched on later.
      if (error instanceof EtcdError && error.message.startsWith("etcdserver: authentication is not enabled"))
        return undefined;
      throw error;
    }
  }

  watches(): WatchStream {
    if (this.#watches === undefined || this.#watches.isOver)
      this.#watches = new WatchStream(this.connection, this.#metadata);
    return this.#watches;
  }

  async #call<A>(path: string, body: Buffer, signal: StopSignal, read: (message: ProtobufMessage) => A): Promise<A> {
    return decoded(await this.#bytes(path, body, signal), read);
  }

  async #bytes(path: string, body: Buffer, signal: StopSignal): Promise<Buffer> {
    try {
      return await this.connection.unary(path, body, this.#metadata, signal);
    } catch (error) {
      // The request was refused before anything was done, so sending it again does not do it twice.
      if (this.#user === undefined || !wantsNewToken(error)) throw error;
      await this.authenticate(signal);
      return await this.connection.unary(path, body, this.#metadata, signal);
    }
  }
}

/** An answer that cannot be read counts as no answer: the request may have been carried out. */
function decoded<A>(bytes: Buffer, read: (message: ProtobufMessage) => A): A {
  try {
    return read(new ProtobufMessage(bytes));
  } catch (cause) {
    throw unreadable(cause);
  }
}
