// A candidate that goes by the rules of client-go's leader election on Leases, written anew from what those rules are, with its clock in the test's hand. What it remembers,
// compares and writes is what a Go candidate remembers, compares and writes: above all that it compares records as JSON in which times have whole seconds.
import type { Stage } from "./stage.ts";

interface Spec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

export class GoCandidate {
  readonly identity: string;
  readonly #stage: Stage;
  readonly #name: string;
  readonly #seconds: number;
  /** What was last seen, and when. */
  #raw = "";
  #spec: Spec = {};
  #observedMs = 0;

  constructor(stage: Stage, name: string, identity: string, seconds: number) {
    this.#stage = stage;
    this.#name = name;
    this.identity = identity;
    this.#seconds = seconds;
  }

  get isLeader(): boolean {
    return this.#spec.holderIdentity === this.identity;
  }

  /** One round of acquiring or renewing, at this instant of its own clock. */
  async round(nowMs: number): Promise<boolean> {
    const at = goTime(Date.now());
    const mine: Spec = {
      holderIdentity: this.identity,
      leaseDurationSeconds: this.#seconds,
      acquireTime: at,
      renewTime: at,
      leaseTransitions: 0,
    };
    const { status, json } = await this.#stage.ask("GET", this.#name);
    if (status === 404) {
      const made = await this.#stage.ask("POST", "", { metadata: { name: this.#name }, spec: mine });
      if (made.status !== 201) return false;
      this.#observe(mine, nowMs);
      return true;
    }
    const lease = json as { readonly spec: Spec };
    const raw = rawRecord(lease.spec);
    if (raw !== this.#raw) {
      this.#observe(lease.spec, nowMs);
      this.#raw = raw;
    }
    const holder = lease.spec.holderIdentity ?? "";
    const isValid = this.#observedMs + (this.#spec.leaseDurationSeconds ?? 0) * 1000 > nowMs;
    if (holder !== "" && isValid && !this.isLeader) return false;
    const { acquireTime, leaseTransitions = 0 } = lease.spec;
    const next = this.isLeader
      ? { ...mine, acquireTime: acquireTime ?? at, leaseTransitions }
      : { ...mine, leaseTransitions: leaseTransitions + 1 };
    const put = await this.#stage.ask("PUT", this.#name, { ...lease, spec: next });
    if (put.status !== 200) return false;
    this.#observe(next, nowMs);
    return true;
  }

  async release(): Promise<void> {
    const lease = await this.#stage.lease(this.#name);
    const at = goTime(Date.now());
    const spec = {
      holderIdentity: "",
      leaseDurationSeconds: 1,
      acquireTime: at,
      renewTime: at,
      leaseTransitions: lease.spec["leaseTransitions"],
    };
    const { status } = await this.#stage.ask("PUT", this.#name, { ...lease, spec });
    if (status !== 200) throw new Error(`not released: ${status}`);
    this.#observe(spec as Spec, 0);
  }

  #observe(spec: Spec, nowMs: number): void {
    this.#spec = spec;
    this.#observedMs = nowMs;
  }
}

/** MicroTime. */
function goTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, -1)}000Z`;
}

/** LeaderElectionRecord as JSON: its times are of the type that is written without fractions of a second. */
function rawRecord(spec: Spec): string {
  const whole = (time: string | undefined): string | null => (time === undefined ? null : `${time.slice(0, 19)}Z`);
  return JSON.stringify({
    holderIdentity: spec.holderIdentity ?? "",
    leaseDurationSeconds: spec.leaseDurationSeconds ?? 0,
    acquireTime: whole(spec.acquireTime),
    renewTime: whole(spec.renewTime),
    leaderTransitions: spec.leaseTransitions ?? 0,
  });
}
