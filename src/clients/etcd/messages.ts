// Those messages of etcd's API that are used here, with the field numbers from rpc.proto and kv.proto of etcd 3.4; later versions only add to them. Requests are plain values, and answers are read into
// plain values.
import { encode, type Field, type ProtobufMessage } from "./protobuf.ts";

export interface Header {
  readonly clusterId: bigint;
  readonly memberId: bigint;
  readonly revision: bigint;
  readonly raftTerm: bigint;
}

export interface KeyValue {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly createRevision: bigint;
  readonly modRevision: bigint;
  /** 0: the key is bound to no lease. */
  readonly lease: bigint;
}

/** A text stands for its UTF-8 bytes. */
type Key = Uint8Array | string;

export interface RangeRequest {
  readonly key: Key;
  /** The end of the range, which is not part of it. Without it the range is this key only. */
  readonly rangeEnd?: Uint8Array | undefined;
  readonly limit?: number | undefined;
  /** The keys are sorted by create revision. */
  readonly order?: "oldest first" | "newest first" | undefined;
  readonly keysOnly?: boolean | undefined;
  readonly maxCreateRevision?: bigint | undefined;
}

export interface RangeResponse {
  readonly header: Header;
  readonly kvs: readonly KeyValue[];
  readonly more: boolean;
}

export interface PutRequest {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
  readonly lease?: bigint | undefined;
}

export type Compare = { readonly key: Key } & (
  | { readonly createRevision: bigint }
  /** There is no key from `key` to the end of the range, which is not part of it. */
  | { readonly noneUntil: Uint8Array }
  | { readonly modRevision: bigint }
  /** The version is the number of times that a key was written since it was made; a key that is not there has version 0. */
  | { readonly versionBelow: bigint }
  | { readonly value: Uint8Array }
);

export type Operation =
  | { readonly range: RangeRequest }
  | { readonly put: PutRequest }
  | { readonly delete: DeleteRequest }
  | { readonly txn: TxnRequest };

export interface TxnRequest {
  readonly compare: readonly Compare[];
  readonly success: readonly Operation[];
  readonly failure: readonly Operation[];
}

export interface TxnResponse {
  readonly header: Header;
  readonly succeeded: boolean;
  /** One response for each operation, in order; the response to a put or a delete is empty. */
  readonly responses: readonly OperationResponse[];
}

export interface OperationResponse {
  readonly kvs: readonly KeyValue[];
  readonly more: boolean;
  readonly txn: Omit<TxnResponse, "header"> | undefined;
}

const SORT_ORDER = { "oldest first": 1, "newest first": 2 } as const;
const SORT_TARGET_CREATE = 2;
const LESS = 2;
const TARGET = { version: 0, create: 1, mod: 2, value: 3 } as const;

export function rangeRequest(request: RangeRequest): Buffer {
  return encode(rangeFields(request));
}

function rangeFields(request: RangeRequest): readonly Field[] {
  return [
    [1, request.key],
    [2, request.rangeEnd],
    [3, request.limit],
    [5, request.order === undefined ? 0 : SORT_ORDER[request.order]],
    [6, request.order === undefined ? 0 : SORT_TARGET_CREATE],
    [8, request.keysOnly],
    [13, request.maxCreateRevision],
  ];
}

export function readRange(message: ProtobufMessage): RangeResponse {
  return { header: readHeader(message), kvs: message.all(2).map(readKeyValue), more: message.flag(3) };
}

export function txnRequest(request: TxnRequest): Buffer {
  return encode(txnFields(request));
}

function txnFields({ compare, success, failure }: TxnRequest): readonly Field[] {
  const fields: Field[] = [];
  for (const each of compare) fields.push([1, compareFields(each)]);
  for (const each of success) fields.push([2, operationFields(each)]);
  for (const each of failure) fields.push([3, operationFields(each)]);
  return fields;
}

/** The comparison is for equality, except for a version. */
function compareFields(compare: Compare): readonly Field[] {
  if ("createRevision" in compare)
    return [
      [2, TARGET.create],
      [3, compare.key],
      [5, compare.createRevision],
    ];
  if ("versionBelow" in compare)
    return [
      [1, LESS],
      [2, TARGET.version],
      [3, compare.key],
      [4, compare.versionBelow],
    ];
  if ("noneUntil" in compare)
    return [
      [2, TARGET.create],
      [3, compare.key],
      [5, 0n],
      [64, compare.noneUntil],
    ];
  if ("modRevision" in compare)
    return [
      [2, TARGET.mod],
      [3, compare.key],
      [6, compare.modRevision],
    ];
  return [
    [2, TARGET.value],
    [3, compare.key],
    [7, compare.value],
  ];
}

function operationFields(operation: Operation): readonly Field[] {
  if ("range" in operation) return [[1, rangeFields(operation.range)]];
  if ("put" in operation) return [[2, putFields(operation.put)]];
  if ("delete" in operation) return [[3, deleteFields(operation.delete)]];
  return [[4, txnFields(operation.txn)]];
}

export function putRequest(request: PutRequest): Buffer {
  return encode(putFields(request));
}

function putFields({ key, value, lease }: PutRequest): readonly Field[] {
  return [
    [1, key],
    [2, value],
    [3, lease],
  ];
}

interface DeleteRequest {
  readonly key: Uint8Array;
  readonly rangeEnd?: Uint8Array | undefined;
}

export function deleteRequest(request: DeleteRequest): Buffer {
  return encode(deleteFields(request));
}

function deleteFields({ key, rangeEnd }: DeleteRequest): readonly Field[] {
  return [
    [1, key],
    [2, rangeEnd],
  ];
}

export function readTxn(message: ProtobufMessage): TxnResponse {
  return { header: readHeader(message), ...readTxnBody(message) };
}

function readTxnBody(message: ProtobufMessage): Omit<TxnResponse, "header"> {
  return { succeeded: message.flag(2), responses: message.all(3).map(readOperation) };
}

function readOperation(message: ProtobufMessage): OperationResponse {
  const range = message.message(1);
  return {
    kvs: range.all(2).map(readKeyValue),
    more: range.flag(3),
    txn: message.has(4) ? readTxnBody(message.message(4)) : undefined,
  };
}

function readKeyValue(message: ProtobufMessage): KeyValue {
  return {
    key: message.bytes(1),
    createRevision: message.int64(2),
    modRevision: message.int64(3),
    value: message.bytes(5),
    lease: message.int64(6),
  };
}

export function readHeader(message: ProtobufMessage): Header {
  const header = message.message(1);
  return {
    clusterId: header.uint64(1),
    memberId: header.uint64(2),
    revision: header.int64(3),
    raftTerm: header.uint64(4),
  };
}

// ---- leases, authentication, status

export function leaseGrantRequest(id: bigint, ttlSeconds: number): Buffer {
  return encode([
    [1, ttlSeconds],
    [2, id],
  ]);
}

export function readLeaseGrant(message: ProtobufMessage): { readonly header: Header; readonly ttlSeconds: number } {
  return { header: readHeader(message), ttlSeconds: Number(message.int64(3)) };
}

/** The same message serves for a revoke and for a keep-alive. */
export function leaseRequest(id: bigint): Buffer {
  return encode([[1, id]]);
}

/** A ttl of 0 means that there is no such lease. */
export function readKeepAlive(message: ProtobufMessage): { readonly header: Header; readonly ttlSeconds: number } {
  return { header: readHeader(message), ttlSeconds: Number(message.int64(3)) };
}

export interface TimeToLive {
  readonly header: Header;
  /** −1 means that there is no such lease. */
  readonly ttlSeconds: number;
  readonly grantedSeconds: number;
  readonly keys: readonly Buffer[];
}

export function timeToLiveRequest(id: bigint, keys: boolean): Buffer {
  return encode([
    [1, id],
    [2, keys],
  ]);
}

export function readTimeToLive(message: ProtobufMessage): TimeToLive {
  return {
    header: readHeader(message),
    ttlSeconds: Number(message.int64(3)),
    grantedSeconds: Number(message.int64(4)),
    keys: message.allBytes(5),
  };
}

export function authenticateRequest(name: string, password: string): Buffer {
  return encode([
    [1, name],
    [2, password],
  ]);
}

export interface Status {
  readonly header: Header;
  readonly version: string;
  /** 0 means that this member knows of no leader. */
  readonly leader: bigint;
}

export function readStatus(message: ProtobufMessage): Status {
  return { header: readHeader(message), version: message.text(2), leader: message.uint64(4) };
}

// ---- watches

export interface WatchRequest {
  readonly key: Uint8Array;
  readonly rangeEnd?: Uint8Array | undefined;
  readonly startRevision: bigint;
}

export function watchCreateRequest(id: bigint, { key, rangeEnd, startRevision }: WatchRequest): Buffer {
  const create: readonly Field[] = [
    [1, key],
    [2, rangeEnd],
    [3, startRevision],
    [7, id],
  ];
  return encode([[1, create]]);
}

export function watchCancelRequest(id: bigint): Buffer {
  return encode([[2, [[1, id]]]]);
}

export interface WatchEvent {
  readonly type: "put" | "delete";
  readonly kv: KeyValue;
}

export interface WatchResponse {
  readonly header: Header;
  readonly id: bigint;
  readonly canceled: boolean;
  readonly events: readonly WatchEvent[];
}

export function readWatch(message: ProtobufMessage): WatchResponse {
  return {
    header: readHeader(message),
    id: message.int64(2),
    canceled: message.flag(4),
    events: message.all(11).map((event) => ({
      type: event.flag(1) ? "delete" : "put",
      kv: readKeyValue(event.message(2)),
    })),
  };
}

/** The end of the range of all keys that begin with `prefix`: the prefix with its last byte raised by one. */
export function rangeEndOf(prefix: Uint8Array): Buffer {
  const end = Buffer.from(prefix);
  for (let index = end.length - 1; index >= 0; index--) {
    const byte = end[index] ?? 0xff;
    if (byte < 0xff) {
      end[index] = byte + 1;
      return end.subarray(0, index + 1);
    }
  }
  return Buffer.of(0);
}
