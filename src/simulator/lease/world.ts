// A world composes kernel, network, store, resource, processes, nemesis and invariants. It decides nothing itself but the order of the phases:
//
//   chaos        until `calmAtMs`: the schedule of faults runs
//   succession   everything is whole again; within the bound each election must get a leader
//   alone        one candidate after the other must lead each election when all others have withdrawn
//
// It ends at the first violation, or when the last phase is complete.
import type { Reading } from "../../base/clock.ts";
import { assert } from "../../base/assert.ts";
import { resolveSettings, type Settings } from "../../lease/settings.ts";
import { VirtualClock } from "../kernel/clock.ts";
import type { Violation } from "../kernel/hunt.ts";
import { type Counts, emptyCounts } from "./counts.ts";
import type { Fault } from "./faults.ts";
import { guaranteeOf } from "./guarantees.ts";
import { Ambush, Inflictions } from "./inflict.ts";
import { createInvariants } from "./invariants/index.ts";
import { type Actor, Kernel, type KernelEvent } from "../kernel/kernel.ts";
import { addressOf, STORE_ADDRESS } from "./messages.ts";
import { Nemesis } from "./nemesis.ts";
import { CALM_NETWORK, Network } from "../kernel/network.ts";
import type { Judgement, ObservationListener, Observation, Probes, Who } from "./observation.ts";
import { LeaseProcess } from "./process.ts";
import { promisesOf, successionMs } from "./promises.ts";
import type { CandidateSpec, WorldSpec } from "./spec.ts";
import { StoreHost } from "./store-host.ts";
import { streamOf, streamOfLife } from "./streams.ts";
import { Tally } from "./tally.ts";
import { Trace } from "../kernel/trace.ts";
import type { LeaseEvent, LeaseTrace } from "./trace.ts";
import { Writes } from "./writes.ts";

/** This is far more than any world needs: a world that gets here runs in a circle. */
const EVENTS_MAX = 100_000;

/** A world of candidates, each the shipped lease machine, with a modelled store. */
export class World implements Actor {
  readonly spec: WorldSpec;
  readonly kernel: Kernel;
  readonly network: Network;
  readonly trace: LeaseTrace;
  readonly counts: Counts = emptyCounts();
  readonly store: StoreHost;
  readonly writes: Writes;
  readonly processes: LeaseProcess[] = [];
  readonly elections: readonly string[];
  readonly #lives: number[] = [];
  readonly #settings: readonly Settings[];
  readonly #clocks: VirtualClock[];
  /** The processes, by the number of each life. */
  readonly #byNumber: LeaseProcess[] = [];
  readonly #ears: ReadonlyMap<Observation["type"], readonly Ear[]>;
  readonly #judgedBy: readonly string[] | undefined;
  readonly #succession: { readonly isComplete: boolean };
  readonly #nemesis: Nemesis;
  /** The acts from outside, and the number of events before each. */
  readonly #interventions: { readonly after: number; readonly fault: Fault }[] = [];
  #violation: Violation | undefined;
  #isDone = false;
  #alone: number[];
  #overdue: KernelEvent | undefined;
  #isAwaiting = false;

  constructor(spec: WorldSpec, isRecorded: boolean, judgedBy?: readonly string[]) {
    this.spec = spec;
    this.#judgedBy = judgedBy;
    this.elections = spec.elections;
    this.#alone = [...spec.alone];
    this.trace = new Trace<LeaseEvent>(isRecorded);
    this.kernel = new Kernel(streamOf(spec.seed, "ties"));
    this.network = new Network(this.kernel, streamOf(spec.seed, "network"), spec.network);
    const rng = streamOf(spec.seed, "store");
    this.store = new StoreHost(
      { rng, ...this.#surroundings() },
      spec.store,
      new VirtualClock(spec.store.clock),
      spec.elections,
    );
    this.writes = new Writes({ rng: streamOf(spec.seed, "resource"), ...this.#surroundings() }, spec.resource);
    this.network.attach(STORE_ADDRESS, this.store);
    this.#settings = spec.candidates.map((candidate) => settingsOf(spec, candidate));
    this.#clocks = spec.candidates.map(({ clock }) => new VirtualClock(clock));
    const { listeners, succession, proofs } = createInvariants(this.#judgement());
    this.#succession = succession;
    this.#nemesis = new Nemesis(this.kernel, new Inflictions(this), spec.calmAtMs);
    const ambush = new Ambush(this.#nemesis, spec.elections);
    const tally = new Tally(this.counts, proofs, (who) => this.#read(who));
    this.#ears = byType([proofs, tally, ...listeners, ambush]);
    this.#nemesis.plan(spec.faults);
    spec.candidates.forEach(({ spareOf }, slot) => {
      if (spareOf === undefined) this.restart(slot);
    });
    this.kernel.schedule(spec.calmAtMs, this, "calm");
  }

  /** Runs to the end; undefined if no invariant was broken. */
  run(): Violation | undefined {
    while (this.step());
    return this.#violation;
  }

  /** Handles one event. False: the run was over before, by a violation or because the last phase is complete. */
  step(): boolean {
    if (this.#violation !== undefined || this.#isDone) return false;
    const event = this.kernel.take();
    if (event === undefined) return false;
    const { hash } = this.trace;
    hash.mixTime(event.atMs);
    hash.mixText(event.kind);
    hash.mix(event.subject);
    event.actor?.handle(event);
    // A message is in its event for as long as it travels; other events are kept by parts that may cancel them.
    if (event.actor === this.network) this.kernel.recycle(event);
    if (this.#isAwaiting && this.#succession.isComplete) this.#advance();
    this.counts.events = this.kernel.handled;
    if (this.kernel.handled > EVENTS_MAX) this.#giveUp();
    return true;
  }

  /** Inflicts a fault now that was not in its schedule. It ends as others do, or with the calm. */
  inflict(fault: Fault): void {
    this.#interventions.push({ after: this.kernel.handled, fault });
    this.#nemesis.strike(fault);
  }

  /**
   * Returns a copy that goes on exactly as this one would, until one of them is treated differently. It is made by running the same spec to the same event: a world is a function of its spec and of the
   * acts from outside, and a run to here costs milliseconds.
   */
  fork(): World {
    const fork = new World(this.spec, this.trace.isRecorded, this.#judgedBy);
    for (const { after, fault } of this.#interventions) {
      while (fork.kernel.handled < after) fork.step();
      fork.inflict(fault);
    }
    while (fork.kernel.handled < this.kernel.handled) fork.step();
    return fork;
  }

  get violation(): Violation | undefined {
    return this.#violation;
  }

  #giveUp(): void {
    this.#isDone = true;
    this.#violate("progress", `${EVENTS_MAX} events and no end: something spins`);
  }

  observe(observation: Observation): void {
    const ears = this.#ears.get(observation.type);
    if (ears === undefined) return;
    for (const hear of ears) hear(observation);
  }

  restart(slot: number): void {
    const candidate = this.spec.candidates[slot];
    const settings = this.#settings[slot];
    const clock = this.#clocks[slot];
    assert(candidate !== undefined && settings !== undefined && clock !== undefined, "a slot has a candidate");
    const who = this.#newLife(slot);
    const surroundings = { store: this.store, writes: this.writes, ...this.#surroundings() };
    const rng = streamOfLife(this.spec.seed, slot, who.life);
    const process = new LeaseProcess(surroundings, { who, spec: candidate, settings, clock, rng });
    this.#settleIn(process);
    for (const name of this.elections) process.tell({ type: "stand", name, value: who.label });
  }

  #newLife(slot: number): Who {
    const life = (this.#lives[slot] ?? 0) + 1;
    this.#lives[slot] = life;
    return { number: this.#byNumber.length, slot, life, label: `c${slot}.${life}` };
  }

  #settleIn(process: LeaseProcess): void {
    const { who } = process;
    this.processes[who.slot] = process;
    this.#byNumber[who.number] = process;
    this.network.attach(addressOf(who.slot), process);
  }

  /** Undefined: there is no slot for a copy of the process, or a copy lives there. */
  clone(original: LeaseProcess): LeaseProcess | undefined {
    const slot = this.spec.candidates.findIndex(({ spareOf }) => spareOf === original.who.slot);
    if (slot < 0 || this.processes[slot]?.isAlive === true) return undefined;
    const who = this.#newLife(slot);
    const clock = original.clock.copy();
    this.#clocks[slot] = clock;
    const copy = original.copy(who, clock, streamOfLife(this.spec.seed, slot, who.life));
    this.#settleIn(copy);
    this.observe({ type: "cloned", atMs: this.kernel.nowMs, who: original.who, copy: who });
    return copy;
  }

  // ---- phases ----------------------------------------------------------------------------------------------------------------------------

  handle(event: KernelEvent): void {
    if (event.kind === "overdue") return this.observe({ type: "overdue", atMs: this.kernel.nowMs });
    this.trace.record(this.kernel.nowMs, { type: "calm" });
    this.network.spec = CALM_NETWORK;
    this.store.calm();
    this.#await(undefined);
  }

  #advance(): void {
    this.counts.successions++;
    this.kernel.cancel(this.#overdue);
    const slot = this.#alone.shift();
    if (slot === undefined) {
      this.#isDone = true;
      return;
    }
    this.trace.record(this.kernel.nowMs, { type: "alone", slot });
    for (const process of this.processes)
      for (const name of this.elections)
        process.tell(
          process.who.slot === slot ? { type: "stand", name, value: process.label } : { type: "withdraw", name },
        );
    this.#await(slot);
  }

  #await(slot: number | undefined): void {
    const boundMs = successionMs(this.spec);
    this.#isAwaiting = true;
    this.#overdue = this.kernel.schedule(this.kernel.nowMs + boundMs, this, "overdue");
    this.observe({ type: "awaited", atMs: this.kernel.nowMs, elections: this.elections, slot, boundMs });
  }

  // ---- the world as its parts see it -------------------------------------------------------------------------------------------------------

  #surroundings(): Pick<World, "kernel" | "network" | "trace" | "counts" | "observe"> {
    return {
      kernel: this.kernel,
      network: this.network,
      trace: this.trace,
      counts: this.counts,
      observe: (observation) => this.observe(observation),
    };
  }

  #judgement(): Judgement {
    const probes: Probes = {
      isHeld: (who, election, bid) => this.#byNumber[who.number]?.isHeld(election, bid) ?? false,
      stands: (election, bid, session) => this.store.stands(election, bid, session),
    };
    return { promises: promisesOf(this.spec), probes, violate: (invariant, story) => this.#violate(invariant, story) };
  }

  #read(who: Who): Reading {
    return (this.#clocks[who.slot] as VirtualClock).read(this.kernel.nowMs);
  }

  #violate(invariant: string, story: string): void {
    if (this.#violation !== undefined || this.#judgedBy?.includes(invariant) === false) return;
    this.#violation = { invariant, story, atMs: this.kernel.nowMs };
    this.trace.record(this.kernel.nowMs, { type: "violation", invariant, story });
  }
}

function settingsOf(
  spec: WorldSpec,
  {
    id,
    ttlMs,
    drainMs,
    renewal,
    stallAfterMs,
    maxTenureMs,
    priority,
    monoGrainMs,
    bootGrainMs,
    node: name,
  }: CandidateSpec,
): Settings {
  const grain = { monoMs: monoGrainMs, bootMs: bootGrainMs };
  const node = name === undefined ? undefined : { name, machine: `machine of ${name}` };
  const input = { id, ttlMs, drainMs, renewal, stallAfterMs, maxTenureMs, priority, rho: spec.rho, node };
  return resolveSettings(input, guaranteeOf(spec.store), grain, "simulator");
}

type Ear = (observation: Observation) => void;

/** The ears are in the order of the listeners. Each ear is called with observations of its own kind alone. */
function byType(listeners: readonly ObservationListener[]): Map<Observation["type"], Ear[]> {
  const map = new Map<Observation["type"], Ear[]>();
  for (const { hears } of listeners)
    for (const [type, ear] of Object.entries(hears) as [Observation["type"], Ear][])
      map.set(type, [...(map.get(type) ?? []), ear]);
  return map;
}
