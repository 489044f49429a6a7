// One process of a world of partitions: a member, and at times the controller. It hosts the real machines (src/partitions) as the real hosts do, with simulated time, requests and works. A process
// that is paused hears nothing until it goes on, and then everything at once, in any order; one that was killed begins with nothing.
import { nextBetween, nextChance } from "../../base/rng.ts";
import { Process } from "../kernel/process.ts";
import { journeyOver, send } from "../kernel/request.ts";
import { type Chunk, sessionRef, type SessionRef } from "../../partitions/chunk.ts";
import {
  type ControllerEffect,
  type ControllerInput,
  type ControllerState,
  createController,
  type GroupPlan,
  idsToWatch,
  type SeatedMember,
  stepController,
} from "../../partitions/controller.ts";
import { chunksOf } from "../../partitions/layout.ts";
import {
  type Ack,
  createMember,
  type MemberEffect,
  type MemberInput,
  type MemberState,
  stepMember,
} from "../../partitions/member.ts";
import { isSameRevision } from "../../partitions/revision.ts";
import { Writer } from "./writer.ts";
import type { Handle } from "./judge.ts";
import { zoneIn } from "./spec.ts";
import type { SimSession } from "./store.ts";
import type { PartitionWorld } from "./world.ts";

const TIMEOUT_MS = 150;

interface SeatStanding {
  readonly token: number;
  readonly ref: SessionRef;
  readonly machine: MemberState;
  readonly statements: Writer<readonly Ack[]>;
}

interface Office {
  readonly token: number;
  readonly machine: ControllerState;
  readonly writers: readonly Writer<Chunk>[];
  /** What it has seen at each seat of a member: the last renewal, and since when it has seen no later one. */
  readonly silences: Map<number, Silence>;
}

interface Silence {
  readonly deadlineMs: number;
  readonly sinceMs: number;
}

export class PartitionProcess extends Process {
  readonly who: number;
  readonly #world: PartitionWorld;
  isStaying = true;
  session: SimSession | undefined;
  standing: SeatStanding | undefined;
  office: Office | undefined;
  readonly #handles = new Map<number, Handle>();

  constructor(world: PartitionWorld, who: number) {
    super(who);
    this.#world = world;
    this.who = who;
  }

  get isAble(): boolean {
    return this.isAlive && this.pauses === 0 && this.cuts === 0;
  }

  /** A process does not stand again before the work of an earlier term has settled (law 8). */
  get isEligible(): boolean {
    return this.isAble && this.isStaying && this.standing === undefined && this.#handles.size === 0;
  }

  isHeld(): boolean {
    return this.session !== undefined && !this.session.isEnded && this.#world.nowMs < this.session.deadlineMs;
  }

  isLeading(): boolean {
    return this.isHeld() && this.#world.nowMs < (this.session?.deadlineMs ?? 0) - this.#world.spec.drainMs;
  }

  // ---- as a member

  join(token: number): void {
    const ref = sessionRef(`m${this.who}`, BigInt(token), "");
    const { layout } = this.#world.spec;
    const seat = this.#world.store.members[this.who];
    const statements = new Writer<readonly Ack[]>(
      token,
      (write) => this.#world.state(this.who, write),
      this,
      () => this.standing?.token === token && this.leave(),
    );
    statements.over = seat?.memos.get(0)?.version;
    this.standing = { token, ref, machine: createMember(ref, layout.chunkSize), statements };
    statements.write([]);
    this.readChunks();
  }

  /** The session's signal aborts: everything stops, and the session is given back when all work has settled. */
  leave(): void {
    this.#input({ type: "leave" });
    this.office = undefined;
    this.#rest();
  }

  /** Like the real host, it asks the session's term first. Once its signal has aborted, nothing is begun. */
  #input(input: MemberInput): void {
    const { standing } = this;
    if (standing === undefined) return;
    if (!this.isLeading() && !standing.machine.hasLeft && input.type !== "leave") this.leave();
    for (const effect of stepMember(standing.machine, input)) this.#carryOut(standing, effect);
  }

  #carryOut(standing: SeatStanding, effect: MemberEffect): void {
    switch (effect.type) {
      case "begin":
        return this.#begin(standing, effect.partition, effect.epoch);
      case "stop":
        return this.#stop(effect.partition);
      case "state":
        if (effect.acks.some(({ stopping }) => stopping.length > 0)) this.#world.count("acks with work still running");
        return standing.statements.write(effect.acks);
    }
  }

  #begin({ ref }: SeatStanding, partition: number, epoch: Handle["epoch"]): void {
    const { session } = this;
    if (session === undefined) return;
    const handle: Handle = { partition, who: this.who, session, sessionKey: ref.key, epoch, isOver: false };
    this.#handles.set(partition, handle);
    this.#world.note({ is: "begins", who: this.who, partition, epoch });
    this.#world.count("begun");
    this.#world.judge.begun(handle, this.#world.nowMs);
  }

  #stop(partition: number): void {
    const { rng, spec, isCalm } = this.#world;
    const isDeaf = !isCalm && nextChance(rng, spec.deafChance);
    this.#settledSoon(partition, isDeaf ? 2 * spec.ttlMs : nextBetween(rng, 0, isCalm ? 2 : spec.stopMaxMs));
  }

  #settledSoon(partition: number, afterMs: number): void {
    const { standing } = this;
    this.#world.later(afterMs, this, () => {
      const handle = this.#handles.get(partition);
      if (handle !== undefined) handle.isOver = true;
      this.#handles.delete(partition);
      if (standing === this.standing) this.#input({ type: "settled", partition });
      this.#rest();
    });
  }

  /** All work of a session that was left has settled: the session is given back. */
  #rest(): void {
    const { standing, session } = this;
    if (standing === undefined || !standing.machine.hasLeft || this.#handles.size > 0) return;
    this.standing = undefined;
    this.session = undefined;
    if (session !== undefined) this.#world.release(session, this.isAble);
  }

  /** Only those that have changed, as the index tells a real member. */
  readChunks(): void {
    for (let index = 0; index < chunksOf(this.#world.spec.layout); index++) this.readChunk(index);
  }

  readChunk(index: number): void {
    const { standing } = this;
    if (standing === undefined || standing.machine.hasLeft) return;
    const { memos } = this.#world.store.controller;
    const stands = memos.get(index)?.value.revision;
    const known = standing.machine.seen.get(index);
    if (stands === undefined || (known !== undefined && isSameRevision(known, stands))) return;
    this.ask(
      () => memos.get(index)?.value,
      (chunk) => {
        if (chunk === undefined || this.standing !== standing) return;
        const seen = standing.machine.seen.get(index);
        if (seen !== undefined && (seen.term.token > chunk.revision.term.token || seen.n > chunk.revision.n))
          this.#world.count("chunks read out of order");
        this.#input({ type: "chunk", index, chunk });
      },
    );
  }

  // ---- as the controller

  rule(token: number): void {
    const term = { token: BigInt(token), bid: `b${token}` };
    const { layout, movesAtOnce } = this.#world.spec;
    this.ask(
      () => new Map(this.#world.store.controller.memos),
      (memos) => {
        if (!this.isHeld() || this.#world.store.controller.token !== token) return;
        const chunks = Array.from({ length: chunksOf(layout) }, (_, index) => memos.get(index)?.value);
        const writers = chunks.map((_, index) => {
          const leave = (): void => {
            if (this.office?.token === token) this.office = undefined;
          };
          const writer = new Writer<Chunk>(token, (write) => this.#world.assign(index, write), this, leave);
          writer.over = memos.get(index)?.version;
          return writer;
        });
        const plan = { layout, movesAtOnce, ...this.#tastes() };
        this.office = { token, machine: createController(plan, term, chunks), writers, silences: new Map() };
        this.lookAround();
      },
      () => this.rule(token),
    );
  }

  #tastes(): Pick<GroupPlan, "zoneOf" | "preferredOf"> {
    const { spec } = this.#world;
    const { hasZones, preferred } = spec;
    const preferredOf = (partition: number): string | undefined => {
      const who = preferred?.[partition];
      return who === undefined ? undefined : `m${who}`;
    };
    return {
      ...(hasZones ? { zoneOf: (partition: number) => zoneIn(spec, partition) } : {}),
      ...(preferred === undefined ? {} : { preferredOf }),
    };
  }

  /** One look at all seats, and what those in them have said. */
  lookAround(): void {
    const { office } = this;
    if (office === undefined) return;
    this.ask(
      () => ({ members: this.#world.seen(), wishes: this.#world.wishes, renewals: this.#world.renewals() }),
      ({ members, wishes, renewals }) => {
        for (const [who, deadlineMs] of renewals)
          if (office.silences.get(who)?.deadlineMs !== deadlineMs)
            office.silences.set(who, { deadlineMs, sinceMs: this.#world.nowMs });
        this.#govern(office, { type: "wishes", wishes });
        this.#govern(office, { type: "seen", members });
      },
    );
  }

  watches(who: number): boolean {
    return this.office !== undefined && this.who !== who && idsToWatch(this.office.machine).has(`m${who}`);
  }

  /** Whether this controller may take the seat of a member whose session has run out: where takers judge, it has seen no renewal for a ttl. */
  mayTake(who: number): boolean {
    const { spec, nowMs } = this.#world;
    if (!spec.takersJudge) return true;
    const silence = this.office?.silences.get(who);
    return silence !== undefined && nowMs >= silence.sinceMs + spec.ttlMs;
  }

  hearOver(who: number, below: number): void {
    if (this.office !== undefined) this.#govern(this.office, { type: "over", id: `m${who}`, below: BigInt(below) });
  }

  #govern(office: Office, input: ControllerInput): void {
    if (this.office !== office || !this.isHeld()) return;
    for (const effect of stepController(office.machine, input)) this.#write(office, effect);
  }

  #write(office: Office, { index, chunk }: ControllerEffect): void {
    office.writers[index]?.write(chunk, () => this.#govern(office, { type: "written", index }));
  }

  // ---- requests

  ask<A>(atStore: () => A, onAnswer: (answer: A) => void, whenUnanswered: () => void = () => {}): void {
    const { rng, links, spec } = this.#world;
    const timeoutMs = TIMEOUT_MS + 2 * links.latencyMaxMs;
    const onTimeout = (): void => {
      this.#world.count("unanswered");
      whenUnanswered();
    };
    const journey = journeyOver(links, this.cuts > 0, 2 * spec.ttlMs, timeoutMs, rng);
    send(this.#world, this, journey, { atStore, onAnswer, onTimeout });
  }

  // ---- faults

  override kill(): void {
    super.kill();
    for (const handle of this.#handles.values()) handle.isOver = true;
    this.#handles.clear();
    this.standing = undefined;
    this.office = undefined;
    this.session = undefined;
  }

  /** What the world shows of it to a controller. */
  asSeen(acks: readonly Ack[]): SeatedMember | undefined {
    const { spec } = this.#world;
    const zone = zoneIn(spec, this.who);
    return this.standing && { session: this.standing.ref, weight: spec.weights[this.who] ?? 1, zone, acks };
  }
}
