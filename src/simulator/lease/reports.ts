// Passes the reports of the machine of one life on to the trace, the counts, the invariants, and the simulated user.
import type { Reading } from "../../base/clock.ts";
import type { ConclaveEvent } from "../../lease/events.ts";
import { countEvent, countTerm } from "./counts.ts";
import { NO_DOMAIN } from "./guarantees.ts";
import type { Who } from "./observation.ts";
import type { ProcessWorld } from "./process-world.ts";
import type { CandidateSpec } from "./spec.ts";
import type { SimulatedWork } from "./work.ts";

export class Reports {
  readonly #world: ProcessWorld;
  readonly #who: Who;
  readonly #spec: CandidateSpec;
  readonly #rho: number;
  readonly #work: SimulatedWork;

  constructor(world: ProcessWorld, who: Who, spec: CandidateSpec, rho: number, work: SimulatedWork) {
    this.#world = world;
    this.#who = who;
    this.#spec = spec;
    this.#rho = rho;
    this.#work = work;
  }

  hear(event: ConclaveEvent, now: Reading): void {
    const { counts, trace, kernel } = this.#world;
    const { label, slot } = this.#who;
    trace.hash.mixText(event.type);
    if (trace.isRecorded) trace.record(kernel.nowMs, { type: "report", who: label, slot, event });
    countEvent(counts, event);
    if (event.type === "elected") this.#elected(event, now);
    if (event.type === "state" && event.state === "ending") this.#ending(event, now);
    if (event.type !== "lost") return;
    const { election, reason } = event;
    this.#world.observe({ type: "lost", atMs: kernel.nowMs, who: this.#who, election, reason, now });
  }

  #elected(event: Extract<ConclaveEvent, { type: "elected" }>, now: Reading): void {
    const { election, bid, token = { domain: NO_DOMAIN, value: 0n, bid } } = event;
    const { counts, trace, kernel } = this.#world;
    countTerm(counts, this.#spec, this.#rho, token);
    trace.hash.mix(Number(token.value));
    this.#world.observe({ type: "elected", atMs: kernel.nowMs, who: this.#who, election, token, now });
    this.#work.begin(election, token);
  }

  #ending({ election, reason }: Extract<ConclaveEvent, { type: "state" }>, now: Reading): void {
    const { nowMs: atMs } = this.#world.kernel;
    this.#world.observe({ type: "ending", atMs, who: this.#who, election, reason: reason ?? "resigned", now });
    this.#work.stop(election);
  }
}
