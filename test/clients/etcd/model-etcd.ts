// etcd as a model in memory, behind the methods that a driver calls: keys with create and mod revisions, leases, transactions, watches with a history. One request
// is one step, and a test says what happens between two of them. What it does is what etcd's API documents; the conformance suite runs against real ones.
import { EtcdError } from "../../../src/clients/etcd/errors.ts";
import type { EtcdLink } from "../../../src/clients/etcd/link.ts";
import type {
  Compare,
  Header,
  KeyValue,
  Operation,
  OperationResponse,
  RangeRequest,
  TxnRequest,
  TxnResponse,
  WatchEvent,
} from "../../../src/clients/etcd/messages.ts";

interface Watch {
  readonly key: string;
  readonly end: string;
  readonly hear: (events: readonly WatchEvent[]) => void;
}

export class ModelEtcd {
  readonly leases = new Map<bigint, number>();
  /** Each request, by its method, as it is executed. */
  readonly asked: string[] = [];
  readonly txns: TxnRequest[] = [];
  /** Called before each request with its number from 0, and after its answer was made. */
  before: (request: number, method: string) => void = () => {};
  after: (request: number, method: string) => void = () => {};
  memberId = 1n;
  raftTerm = 2n;
  #revision = 1n;
  readonly #keys = new Map<string, KeyValue>();
  readonly #history: WatchEvent[] = [];
  readonly #watches = new Set<Watch>();

  get link(): EtcdLink {
    const link = {
      range: (request: RangeRequest) => this.#request("range", () => this.#range(request)),
      txn: (request: TxnRequest) =>
        this.#request("txn", () => {
          this.txns.push(request);
          return this.#txn(request, this.#revision + 1n);
        }),
      grantLease: (id: bigint, ttlSeconds: number) =>
        this.#request("grantLease", () => {
          if (this.leases.has(id)) throw refusal("lease-exists", "etcdserver: lease already exists");
          this.leases.set(id, ttlSeconds);
          return { ttlSeconds };
        }),
      revokeLease: (id: bigint) => this.#request("revokeLease", () => this.revoke(id)),
      keepAlive: (id: bigint) => this.#request("keepAlive", () => ({ ttlSeconds: this.leases.get(id) ?? 0 })),
      timeToLive: (id: bigint) =>
        this.#request("timeToLive", () => ({
          ttlSeconds: this.leases.get(id) ?? -1,
          grantedSeconds: this.leases.get(id) ?? 0,
          keys: [...this.#keys.values()].filter(({ lease }) => lease === id).map(({ key }) => key),
        })),
      watches: () => ({ add: this.#watch.bind(this) }),
    };
    return link as unknown as EtcdLink;
  }

  /** How many watches nobody has cancelled. */
  get watching(): number {
    return this.#watches.size;
  }

  get header(): Header {
    return { clusterId: 7n, memberId: this.memberId, revision: this.#revision, raftTerm: this.raftTerm };
  }

  at(key: string): KeyValue | undefined {
    return this.#keys.get(key);
  }

  put(key: string, value: string, lease: bigint): void {
    this.#txn({ compare: [], success: [{ put: { key: Buffer.from(key), value: Buffer.from(value), lease } }], failure: [] }, this.#revision + 1n); // prettier-ignore
  }

  delete(key: string): void {
    this.#txn({ compare: [], success: [{ delete: { key: Buffer.from(key) } }], failure: [] }, this.#revision + 1n);
  }

  /** A lease that is not there is refused, as etcd does. */
  revoke(id: bigint): void {
    if (!this.leases.delete(id)) throw refusal("lease-not-found", "etcdserver: requested lease not found");
    for (const { key, lease } of this.#keys.values()) if (lease === id) this.delete(key.toString("latin1"));
  }

  async #request<A extends object | void>(method: string, execute: () => A): Promise<A & { header: Header }> {
    await Promise.resolve();
    const number = this.asked.length;
    this.before(number, method);
    this.asked.push(method);
    const answer = { ...execute(), header: this.header } as A & { header: Header };
    this.after(number, method);
    return answer;
  }

  #range({ key, rangeEnd, limit, order, keysOnly, maxCreateRevision }: RangeRequest): Omit<OperationResponse, "txn"> {
    const [from, to] = [Buffer.from(key).toString("latin1"), Buffer.from(rangeEnd ?? []).toString("latin1")];
    const isMeant = (name: string): boolean => (rangeEnd === undefined ? name === from : name >= from && name < to);
    const sign = order === "newest first" ? -1 : 1;
    const found = [...this.#keys]
      .filter(([name, kv]) => isMeant(name) && kv.createRevision <= (maxCreateRevision ?? this.#revision))
      .map(([, kv]) => (keysOnly === true ? { ...kv, value: Buffer.alloc(0) } : kv));
    if (order !== undefined) found.sort((a, b) => sign * Number(a.createRevision - b.createRevision));
    return { kvs: found.slice(0, limit ?? found.length), more: found.length > (limit ?? found.length) };
  }

  #txn({ compare, success, failure }: TxnRequest, revision: bigint): Omit<TxnResponse, "header"> {
    const succeeded = compare.every((each) => this.#isTrue(each));
    return { succeeded, responses: (succeeded ? success : failure).map((each) => this.#operate(each, revision)) };
  }

  #isTrue(compare: Compare): boolean {
    const kv = this.#keys.get(Buffer.from(compare.key).toString("latin1"));
    if ("noneUntil" in compare) return this.#range({ key: compare.key, rangeEnd: compare.noneUntil }).kvs.length === 0;
    if ("createRevision" in compare) return (kv?.createRevision ?? 0n) === compare.createRevision;
    if ("modRevision" in compare) return (kv?.modRevision ?? 0n) === compare.modRevision;
    if ("versionBelow" in compare) throw new Error("the model counts no versions");
    return kv?.value.equals(compare.value) === true;
  }

  #operate(operation: Operation, revision: bigint): OperationResponse {
    const nothing = { kvs: [], more: false, txn: undefined };
    if ("range" in operation) return { ...this.#range(operation.range), txn: undefined };
    if ("txn" in operation) return { ...nothing, txn: this.#txn(operation.txn, revision) };
    const key = Buffer.from("put" in operation ? operation.put.key : operation.delete.key);
    const name = key.toString("latin1");
    const before = this.#keys.get(name);
    if ("delete" in operation) {
      if (before === undefined) return nothing;
      this.#keys.delete(name);
      this.#revision = revision;
      this.#tell({ type: "delete", kv: { ...before, value: Buffer.alloc(0), createRevision: 0n, modRevision: revision, lease: 0n } }); // prettier-ignore
      return nothing;
    }
    const { value, lease = 0n } = operation.put;
    if (lease !== 0n && !this.leases.has(lease)) throw refusal("lease-not-found", "etcdserver: requested lease not found"); // prettier-ignore
    const createRevision = before?.createRevision ?? revision;
    const kv = { key, value: Buffer.from(value), createRevision, modRevision: revision, lease };
    this.#keys.set(name, kv);
    this.#revision = revision;
    this.#tell({ type: "put", kv });
    return nothing;
  }

  #tell(event: WatchEvent): void {
    this.#history.push(event);
    for (const watch of this.#watches) if (isIn(watch, event)) watch.hear([event]);
  }

  /** 0: from now on. What has happened since the revision that it begins with is heard at once. */
  #watch(
    request: { readonly key: Uint8Array; readonly rangeEnd?: Uint8Array; readonly startRevision?: bigint },
    { hear }: { readonly hear: Watch["hear"] },
  ): () => void {
    const key = Buffer.from(request.key).toString("latin1");
    const end = request.rangeEnd === undefined ? `${key}\0` : Buffer.from(request.rangeEnd).toString("latin1");
    const watch = { key, end, hear };
    this.#watches.add(watch);
    const from = request.startRevision ?? 0n;
    const missed = this.#history.filter((event) => from > 0n && event.kv.modRevision >= from && isIn(watch, event));
    if (missed.length > 0) queueMicrotask(() => hear(missed));
    return () => this.#watches.delete(watch);
  }
}

function isIn({ key, end }: Watch, { kv }: WatchEvent): boolean {
  const name = kv.key.toString("latin1");
  return name >= key && name < end;
}

function refusal(problem: "lease-exists" | "lease-not-found", message: string): EtcdError {
  return new EtcdError(problem, "not-applied", message);
}
