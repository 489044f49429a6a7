// ZooKeeper's requests and answers, as values. One function writes each request, and one reads each answer; nothing here knows of connections.
import { CODE, ZooKeeperError } from "./errors.ts";
import { JuteReader, JuteWriter } from "./jute.ts";

export const OPERATION = {
  delete: 2,
  exists: 3,
  getData: 4,
  setData: 5,
  sync: 9,
  ping: 11,
  getChildren: 12, // with the parent's stat
  check: 13,
  multi: 14,
  create: 15, // with the node's stat
  createContainer: 19,
  auth: 100,
  getEphemerals: 103,
  closeSession: -11,
} as const;

/** These stand in place of the number of a request, in messages that a server sends unasked, or answers out of order. */
export const XID = { event: -1, ping: -2, auth: -4 } as const;

export const PERSISTENT = 0;
export const EPHEMERAL = 1;
export const EPHEMERAL_SEQUENTIAL = 3;
export const CONTAINER = 4;

/** Any version. */
export const ANY = -1;

export interface Stat {
  /** The numbers of two writes: the one that made the node, and the last that changed its data. */
  readonly czxid: bigint;
  readonly mzxid: bigint;
  /** The version of the data. */
  readonly version: number;
  /** The session that the node ends with; 0 for none. */
  readonly ephemeralOwner: bigint;
  readonly numChildren: number;
}

export interface Acl {
  readonly perms: number;
  readonly scheme: string;
  readonly id: string;
}

/** Everybody has every right: this is the default of Curator and kazoo. */
export const OPEN_ACL: readonly Acl[] = [{ perms: 31, scheme: "world", id: "anyone" }];
/** Everything is allowed to clients that have logged in with our credentials. */
export const CREATOR_ACL: readonly Acl[] = [{ perms: 31, scheme: "auth", id: "" }];

// ---- the first two messages of a connection

export interface Connect {
  readonly lastZxid: bigint;
  readonly timeoutMs: number;
  /** 0: a new session. */
  readonly sessionId: bigint;
  readonly password: Buffer;
}

export interface Connected {
  readonly timeoutMs: number;
  /** 0: the session that was asked for is over, or the password is wrong. */
  readonly sessionId: bigint;
  readonly password: Buffer;
  readonly isReadOnly: boolean;
}

export function connectRequest({ lastZxid, timeoutMs, sessionId, password }: Connect): Buffer {
  const writer = new JuteWriter().int(0).long(lastZxid).int(timeoutMs).long(sessionId).bytes(password);
  return writer.bool(false).finish(); // a server without a majority is of no use
}

export function readConnected(bytes: Buffer): Connected {
  const reader = new JuteReader(bytes);
  reader.int();
  const timeoutMs = reader.int();
  const sessionId = reader.long();
  const password = Buffer.from(reader.bytes());
  return { timeoutMs, sessionId, password, isReadOnly: reader.left > 0 && reader.bool() };
}

// ---- requests

export interface ZooKeeperRequest {
  readonly operation: number;
  readonly body: Buffer;
  /** The path, for messages. */
  readonly path: string;
}

function request(operation: number, path: string, body: JuteWriter): ZooKeeperRequest {
  return { operation, path, body: body.finish() };
}

export function createRequest(path: string, data: Uint8Array, acl: readonly Acl[], flags: number): ZooKeeperRequest {
  const operation = flags === CONTAINER ? OPERATION.createContainer : OPERATION.create;
  return request(operation, path, createBody(path, data, acl, flags));
}

function createBody(path: string, data: Uint8Array, acl: readonly Acl[], flags: number): JuteWriter {
  const writer = new JuteWriter().text(path).bytes(data);
  writer.vector(acl, ({ perms, scheme, id }) => writer.int(perms).text(scheme).text(id));
  return writer.int(flags);
}

export function deleteRequest(path: string, version: number = ANY): ZooKeeperRequest {
  return request(OPERATION.delete, path, new JuteWriter().text(path).int(version));
}

export function existsRequest(path: string, watch: boolean): ZooKeeperRequest {
  return request(OPERATION.exists, path, new JuteWriter().text(path).bool(watch));
}

export function getDataRequest(path: string, watch: boolean): ZooKeeperRequest {
  return request(OPERATION.getData, path, new JuteWriter().text(path).bool(watch));
}

export function setDataRequest(path: string, data: Uint8Array, version: number): ZooKeeperRequest {
  return request(OPERATION.setData, path, new JuteWriter().text(path).bytes(data).int(version));
}

export function getChildrenRequest(path: string, watch: boolean): ZooKeeperRequest {
  return request(OPERATION.getChildren, path, new JuteWriter().text(path).bool(watch));
}

export function syncRequest(path: string): ZooKeeperRequest {
  return request(OPERATION.sync, path, new JuteWriter().text(path));
}

export function getEphemeralsRequest(path: string): ZooKeeperRequest {
  return request(OPERATION.getEphemerals, path, new JuteWriter().text(path));
}

export const PING: ZooKeeperRequest = { operation: OPERATION.ping, path: "ping", body: Buffer.alloc(0) };
export const CLOSE: ZooKeeperRequest = {
  operation: OPERATION.closeSession,
  path: "closeSession",
  body: Buffer.alloc(0),
};

export function authRequest(user: string, password: string): ZooKeeperRequest {
  const body = new JuteWriter().int(0).text("digest").text(`${user}:${password}`);
  return request(OPERATION.auth, "auth", body);
}

/** All parts are carried out, or none. */
export type Part =
  | { readonly check: string; readonly version: number }
  | { readonly create: string; readonly data: Uint8Array; readonly acl: readonly Acl[]; readonly flags: number }
  | { readonly delete: string; readonly version: number }
  | { readonly setData: string; readonly data: Uint8Array; readonly version: number };

export function multiRequest(path: string, parts: readonly Part[]): ZooKeeperRequest {
  const writer = new JuteWriter();
  for (const part of parts) {
    const [operation, body] = partOf(part);
    writer.int(operation).bool(false).int(-1);
    body(writer);
  }
  return request(OPERATION.multi, path, writer.int(-1).bool(true).int(-1));
}

function partOf(part: Part): readonly [operation: number, body: (writer: JuteWriter) => void] {
  if ("check" in part) return [OPERATION.check, (writer) => writer.text(part.check).int(part.version)];
  if ("delete" in part) return [OPERATION.delete, (writer) => writer.text(part.delete).int(part.version)];
  if ("setData" in part)
    return [OPERATION.setData, (writer) => writer.text(part.setData).bytes(part.data).int(part.version)];
  const { create, data, acl, flags } = part;
  return [
    OPERATION.create,
    (writer) => {
      writer.text(create).bytes(data);
      writer.vector(acl, ({ perms, scheme, id }) => writer.int(perms).text(scheme).text(id));
      writer.int(flags);
    },
  ];
}

export interface NumberedRequest {
  readonly xid: number;
  readonly request: ZooKeeperRequest;
}

/** The request's length, number and kind, which stand before it on the wire. */
const HEAD_BYTES = 12;

/** Requests as they go over the wire, one behind the other. */
export function framesOf(all: readonly NumberedRequest[]): Buffer {
  const length = all.reduce((sum, { request: { body } }) => sum + HEAD_BYTES + body.length, 0);
  const bytes = Buffer.allocUnsafe(length);
  let at = 0;
  for (const { xid, request } of all) {
    const { operation, body } = request;
    bytes.writeInt32BE(HEAD_BYTES - 4 + body.length, at);
    bytes.writeInt32BE(xid, at + 4);
    bytes.writeInt32BE(operation, at + 8);
    bytes.set(body, at + HEAD_BYTES);
    at += HEAD_BYTES + body.length;
  }
  return bytes;
}

// ---- answers

export interface ReplyHead {
  readonly xid: number;
  /** The last write that the server has seen; in the answer to a write, that write. */
  readonly zxid: bigint;
  readonly code: number;
}

export function readHead(reader: JuteReader): ReplyHead {
  return { xid: reader.int(), zxid: reader.long(), code: reader.int() };
}

const STAT_BYTES = 68;

export function readStat(reader: JuteReader): Stat {
  if (reader.left < STAT_BYTES) throw new ZooKeeperError("malformed", "unknown", "the answer ends within a stat");
  const czxid = reader.long();
  const mzxid = reader.long();
  reader.skip(16); // two times of day
  const version = reader.int();
  reader.skip(8); // the versions of the children and of the rights
  const ephemeralOwner = reader.long();
  reader.skip(4); // the length of the data
  const numChildren = reader.int();
  reader.skip(8); // the last write that changed the children
  return { czxid, mzxid, version, ephemeralOwner, numChildren };
}

export interface Created {
  readonly path: string;
  readonly stat: Stat;
}

export function readCreated(reader: JuteReader): Created {
  return { path: reader.text(), stat: readStat(reader) };
}

export interface NodeData {
  readonly data: Buffer;
  readonly stat: Stat;
}

export function readData(reader: JuteReader): NodeData {
  const data = Buffer.from(reader.bytes());
  return { data, stat: readStat(reader) };
}

export interface Children {
  readonly names: readonly string[];
}

/** The stat of the parent follows in the answer, and is not used here. */
export function readChildren(reader: JuteReader): Children {
  return { names: readTexts(reader) };
}

export function readTexts(reader: JuteReader): readonly string[] {
  return reader.vector(4, () => reader.text());
}

/** The answer to one part of a multi. */
export interface PartAnswer {
  readonly code: number;
  readonly stat?: Stat | undefined;
  /** The path of a node that was made, with its number. */
  readonly path?: string | undefined;
}

export function readMulti(reader: JuteReader): readonly PartAnswer[] {
  const answers: PartAnswer[] = [];
  for (;;) {
    const operation = reader.int();
    if (reader.bool()) return answers;
    reader.int();
    answers.push(readPart(operation, reader));
  }
}

const CREATE_WITHOUT_STAT = 1;

function readPart(operation: number, reader: JuteReader): PartAnswer {
  switch (operation) {
    case -1:
      return { code: reader.int() };
    // Within a multi a create is answered like the old request of that name, without a stat.
    case CREATE_WITHOUT_STAT:
      return { code: CODE.ok, path: reader.text() };
    case OPERATION.create:
      return { code: CODE.ok, ...readCreated(reader) };
    case OPERATION.setData:
      return { code: CODE.ok, stat: readStat(reader) };
    case OPERATION.delete:
    case OPERATION.check:
      return { code: CODE.ok };
    default:
      throw new ZooKeeperError("malformed", "unknown", `the answer has a part of an unknown kind: ${operation}`);
  }
}

export type EventType = "created" | "deleted" | "data" | "children" | "other";

export interface WatchedEvent {
  readonly type: EventType;
  readonly path: string;
}

const EVENTS: readonly EventType[] = ["other", "created", "deleted", "data", "children"];

export function readEvent(reader: JuteReader): WatchedEvent {
  const type = EVENTS[reader.int()] ?? "other";
  reader.int();
  return { type, path: reader.text() };
}
