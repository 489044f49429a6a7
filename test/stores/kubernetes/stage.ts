// A store on the API server of this repository, what tests order there, and Leases as others write them.
import { kubernetes } from "conclave/stores/kubernetes";
import type { Bid, Call, Claimed, FencedStore, Hold, Seat, Session } from "conclave/stores/contract";
import { control, NAMESPACE, type start } from "../../../scripts/servers/kubernetes.mjs";
import type { Fault } from "../../../scripts/servers/api-faults.mjs";
import type { Lease } from "../../../scripts/servers/lease-shelf.mjs";

export type Ran = Awaited<ReturnType<typeof start>>;

let count = 0;

export class Stage {
  readonly #servers: () => Ran;
  readonly #stores: FencedStore[] = [];

  constructor(servers: () => Ran) {
    this.#servers = servers;
  }

  get server(): string {
    return this.#servers().server;
  }

  get url(): string {
    return this.#servers().urls[0] ?? "";
  }

  store(): FencedStore {
    const store = kubernetes(this.url);
    this.#stores.push(store);
    return store;
  }

  async end(): Promise<void> {
    for (const store of this.#stores.splice(0)) await store.close();
    await this.order({ faults: [], silent: false });
  }

  order(order: object): ReturnType<typeof control> {
    return control(this.server, order);
  }

  faults(...faults: readonly Fault[]): ReturnType<typeof control> {
    return this.order({ faults });
  }

  async counts(): Promise<Readonly<Record<string, number>>> {
    return (await control(this.server)).counts;
  }

  // ---- as kubectl and others do

  async ask(
    method: string,
    lease: string,
    body?: object,
  ): Promise<{ readonly status: number; readonly json: unknown }> {
    const path = `${this.server}/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases${lease === "" ? "" : `/${lease}`}`;
    const headers = { "content-type": "application/json" };
    const answer = await fetch(path, {
      method,
      ...(body === undefined ? {} : { headers, body: JSON.stringify(body) }),
    });
    return { status: answer.status, json: await answer.json() };
  }

  async lease(name: string): Promise<Lease> {
    const { status, json } = await this.ask("GET", name);
    if (status !== 200) throw new Error(`GET ${name}: ${status}`);
    return json as Lease;
  }

  async edit(name: string, change: (lease: Lease) => object): Promise<void> {
    const { status } = await this.ask("PUT", name, change(await this.lease(name)));
    if (status !== 200) throw new Error(`PUT ${name}: ${status}`);
  }

  async delete(name: string): Promise<void> {
    const { status } = await this.ask("DELETE", name);
    if (status !== 200) throw new Error(`DELETE ${name}: ${status}`);
  }
}

export function aName(label = "job"): string {
  return `${label}-${process.pid}-${++count}`;
}

export function aBid(): Bid {
  return `nonce${++count}.1` as Bid;
}

export function call(signal: AbortSignal = AbortSignal.timeout(10_000)): Call {
  return { signal, sentAtMs: 0 };
}

export async function seatOf(store: FencedStore, name: string): Promise<Seat> {
  const looked = await store.look([{ name }], call());
  const seat = looked.kind === "seen" ? looked.seats[0] : undefined;
  if (seat === undefined) throw new Error(`no seat: ${JSON.stringify(looked)}`);
  return seat;
}

export async function claimOver(
  store: FencedStore,
  session: Session,
  name: string,
  over = undefined as Seat["version"] | undefined,
  bid: Bid = aBid(),
): Promise<Claimed> {
  const version = over ?? (await seatOf(store, name)).version;
  const [claimed] = await store.claim([{ session, name, bid, over: version, value: "" }], call());
  if (claimed === undefined) throw new Error("no answer");
  return claimed;
}

export async function win(store: FencedStore, session: Session, name: string): Promise<Hold> {
  const claimed = await claimOver(store, session, name);
  if (claimed.kind !== "granted") throw new Error(`not granted: ${JSON.stringify(claimed)}`);
  return claimed.hold;
}
