// A thousand members and a hundred thousand partitions: the real machines of all members and of the controller, with a store that answers at once. Joins, a crash, a new controller, a join: who leads
// what is compared after each, and how much has moved.
import { describe, expect, it } from "vitest";
import { type Chunk, formatChunk, parseChunk, type SessionRef, sessionRef } from "../../src/partitions/chunk.ts";
import {
  type ControllerEffect,
  type ControllerInput,
  type ControllerState,
  createController,
  type SeatedMember,
  stepController,
} from "../../src/partitions/controller.ts";
import { chunksOf, layoutOf } from "../../src/partitions/layout.ts";
import { type Ack, createMember, type MemberInput, type MemberState, stepMember } from "../../src/partitions/member.ts";

const MEMBERS = 1000;
const PARTITIONS = 100_000;
const ROOM = { keys: 128, bytes: 65_536 };
const layout = layoutOf(PARTITIONS, ROOM);
const NOBODY = -1;

class Fleet {
  readonly chunks: (Chunk | undefined)[] = Array.from({ length: chunksOf(layout) });
  readonly members = new Map<
    number,
    { readonly ref: SessionRef; readonly machine: MemberState; acks: readonly Ack[] }
  >();
  /** Who leads each partition, as the works themselves see it. */
  readonly leads = new Int32Array(PARTITIONS).fill(NOBODY);
  readonly twice: number[] = [];
  moves = 0;
  writes = 0;
  longest = 0;
  #controller: ControllerState | undefined;
  #token = 0n;

  join(who: number): void {
    const ref = sessionRef(`web-${who}`, BigInt(who) + 10n ** 6n, "1abcde");
    this.members.set(who, { ref, machine: createMember(ref, layout.chunkSize), acks: [] });
    for (const [index, chunk] of this.chunks.entries())
      if (chunk !== undefined) this.#input(who, { type: "chunk", index, chunk });
  }

  die(who: number): string {
    const id = this.members.get(who)?.ref.id ?? "";
    this.members.delete(who);
    for (const [partition, leader] of this.leads.entries()) if (leader === who) this.leads[partition] = NOBODY;
    return id;
  }

  /** From what stands, as text: what a new controller reads. */
  elect(): void {
    const stands = this.chunks.map((chunk) => chunk && parseChunk(formatChunk(chunk)));
    this.#token++;
    this.#controller = createController(
      { layout, movesAtOnce: PARTITIONS / 10 },
      { token: this.#token, bid: `bid-of-controller-${this.#token}` },
      stands,
    );
  }

  rule(input: ControllerInput): void {
    let effects = this.#step(input);
    while (effects.length > 0) {
      for (const { index, chunk } of effects) this.#write(index, chunk);
      effects = [...effects.flatMap(({ index }) => this.#step({ type: "written", index })), ...this.#step(this.seen())];
    }
  }

  seen(): ControllerInput {
    const members = [...this.members.values()].map(({ ref, acks }): SeatedMember => ({
      session: ref,
      weight: 1,
      acks,
    }));
    return { type: "seen", members };
  }

  #step(input: ControllerInput): readonly ControllerEffect[] {
    return this.#controller === undefined ? [] : stepController(this.#controller, input);
  }

  #write(index: number, chunk: Chunk): void {
    this.writes++;
    this.longest = Math.max(this.longest, formatChunk(chunk).length);
    const old = this.chunks[index]?.entries ?? [];
    this.chunks[index] = chunk;
    // Those of whom it says something new.
    const concerned = new Set<string | undefined>();
    for (const [place, { owner, revokedAt }] of chunk.entries.entries()) {
      const before = old[place];
      if (before?.owner?.key === owner?.key && before?.revokedAt === revokedAt) continue;
      concerned.add(owner?.id).add(before?.owner?.id);
    }
    for (const [who, { ref }] of this.members)
      if (concerned.has(ref.id)) this.#input(who, { type: "chunk", index, chunk });
  }

  #input(who: number, input: MemberInput): void {
    const member = this.members.get(who);
    if (member === undefined) return;
    const stopped: number[] = [];
    for (const effect of stepMember(member.machine, input)) {
      if (effect.type === "state") member.acks = effect.acks;
      else if (effect.type === "begin") {
        if (this.leads[effect.partition] !== NOBODY) this.twice.push(effect.partition);
        this.leads[effect.partition] = who;
        this.moves++;
      } else stopped.push(effect.partition);
    }
    for (const partition of stopped) {
      this.leads[partition] = NOBODY;
      this.#input(who, { type: "settled", partition });
    }
  }

  loads(): { readonly least: number; readonly most: number; readonly unled: number } {
    const loads = new Map([...this.members.keys()].map((who) => [who, 0]));
    for (const who of this.leads) if (who !== NOBODY) loads.set(who, (loads.get(who) ?? 0) + 1);
    const counts = [...loads.values()];
    const unled = this.leads.filter((who) => who === NOBODY).length;
    return { least: Math.min(...counts), most: Math.max(...counts), unled };
  }
}

describe("a thousand members and a hundred thousand partitions", () => {
  it(
    "lead each partition once; a crash moves a hundred, a new controller none, a join a hundred",
    { timeout: 120_000 },
    () => {
      const fleet = new Fleet();
      for (let who = 0; who < MEMBERS; who++) fleet.join(who);
      fleet.elect();
      fleet.rule(fleet.seen());
      expect(fleet.loads()).toEqual({ least: 100, most: 100, unled: 0 });
      expect(fleet.writes).toBe(chunksOf(layout));

      fleet.moves = 0;
      const id = fleet.die(500);
      fleet.rule(fleet.seen());
      expect(fleet.loads().unled).toBe(100);
      fleet.rule({ type: "over", id, below: 10n ** 7n });
      expect(fleet.loads()).toEqual({ least: 100, most: 101, unled: 0 });
      expect(fleet.moves).toBe(100);

      fleet.moves = 0;
      fleet.elect();
      fleet.rule(fleet.seen());
      expect(fleet.moves).toBe(0);

      fleet.join(MEMBERS);
      fleet.rule(fleet.seen());
      expect(fleet.loads()).toMatchObject({ least: 95, most: 101, unled: 0 });
      expect(fleet.moves).toBe(95);
      expect(fleet.twice).toEqual([]);
      expect(fleet.longest).toBeLessThanOrEqual(ROOM.bytes);
    },
  );
});
