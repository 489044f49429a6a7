// The native layout of DynamoDB with every request of several candidates delayed, reordered, lost, tried twice and answered late, as a seed draws it; and with an operator
// who deletes seats, and a time to live that removes sessions at any instant. The judge sits in the client: it sees each write at the instant at which it is applied.
import { describe, expect, it } from "vitest";
import { createRng, type Rng } from "conclave/protocols";
import { nextChance, nextInteger } from "../../../src/base/rng.ts";
import type { Hold } from "conclave/stores/contract";
import { dynamodb, type DynamoClient } from "conclave/stores/dynamodb";
import type { Item } from "../../../src/clients/dynamodb/client.ts";
import { Crossing, live, NAME } from "../hasty.ts";
import { ModelClient } from "./model-client.ts";

const SEAT = `seat/${NAME}`;

/** Holds every request back until the seed lets it pass; loses some requests and some answers, and tries some a second time. */
class RestlessClient implements DynamoClient {
  readonly inner = new ModelClient();
  readonly faults: string[] = [];
  readonly crossing: Crossing;
  readonly #random: Rng;

  constructor(random: Rng) {
    this.#random = random;
    this.crossing = new Crossing(random);
  }

  async send(command: never): Promise<unknown> {
    await this.crossing.turn();
    const isWrite = (command as object).constructor.name === "UpdateItemCommand";
    if (!isWrite) return await this.#slowly(this.inner.send(command));
    if (nextChance(this.#random, 0.05)) {
      void this.#late(command).catch(() => {});
      throw new Error("no answer");
    }
    if (nextChance(this.#random, 0.1)) await this.#apply(command).catch(() => {}); // its answer is lost, and the client tries again
    if (nextChance(this.#random, 0.03)) {
      await this.#apply(command).catch(() => {});
      throw new Error("the answer was lost");
    }
    return await this.#slowly(this.#apply(command));
  }

  async #slowly<T>(answer: Promise<T>): Promise<T> {
    answer.catch(() => {});
    await this.crossing.turn();
    return await answer;
  }

  async #late(command: never): Promise<void> {
    await this.crossing.late();
    await this.#apply(command);
  }

  async #apply(command: never): Promise<unknown> {
    const { items } = this.inner;
    const before = items.get(SEAT);
    const isLive = items.get(`session/${before?.["session"]?.S}`)?.["ended"]?.BOOL === false;
    const answer = await this.inner.send(command);
    this.#judge(before, isLive, items.get(SEAT));
    return answer;
  }

  #judge(before: Item | undefined, isLive: boolean, after: Item | undefined): void {
    const [bid, token] = [after?.["bid"]?.S, BigInt(after?.["token"]?.N ?? 0)];
    if (after === undefined || after["vacant"]?.BOOL === true) return;
    if (bid === before?.["bid"]?.S && token === BigInt(before?.["token"]?.N ?? 0)) return;
    const isHeld = before !== undefined && before["vacant"]?.BOOL === false;
    if (isHeld && isLive && before["session"]?.S !== after["session"]?.S)
      this.faults.push(`${bid} took the seat of ${before["bid"]?.S}, whose session lives`);
  }

  /** Of a grant that was told: no grant before it had as great a token. */
  told({ bid, token }: Hold, greatestBefore: bigint): void {
    if ((token?.value ?? 0n) <= greatestBefore)
      this.faults.push(`${bid} was told ${token?.value} after ${greatestBefore}`);
  }
}

interface Play {
  readonly deletes?: boolean;
  readonly removes?: boolean;
}

interface Told {
  grants: number;
  takeovers: number;
  deletions: number;
  removals: number;
  greatest: bigint;
}

async function play(
  seed: number,
  { deletes = false, removes = false }: Play,
): Promise<Told & { readonly faults: readonly string[] }> {
  const random = createRng(seed);
  const client = new RestlessClient(random);
  const store = dynamodb(client, { table: "model" });
  const told: Told = { grants: 0, takeovers: 0, deletions: 0, removals: 0, greatest: 0n };
  let isOver = false;
  const claiming = (): ((hold: Hold, isTakeover: boolean) => void) => {
    const before = told.greatest;
    return (hold, isTakeover) => {
      client.told(hold, before);
      told.greatest = bigger(told.greatest, hold.token?.value ?? 0n);
      told.grants++;
      if (isTakeover) told.takeovers++;
    };
  };
  const candidates = [1, 2, 3].map((number) => live(store, `c${number}`, random, claiming));
  void Promise.all(candidates).then(() => (isOver = true));
  for (let turns = 0; turns < 5_000; turns++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (deletes && nextChance(random, 0.01) && client.inner.items.delete(SEAT)) told.deletions++;
    if (removes && nextChance(random, 0.02) && removeSession(client.inner, random)) told.removals++;
    if (!client.crossing.step() && isOver) break;
  }
  return { ...told, faults: isOver ? client.faults : [...client.faults, "it never ended"] };
}

/** Whichever, ended or not. */
function removeSession({ items }: ModelClient, random: Rng): boolean {
  const keys = [...items.keys()].filter((key) => key.startsWith("session/"));
  return keys.length > 0 && items.delete(keys[nextInteger(random, 0, keys.length - 1)] ?? "");
}

const bigger = (a: bigint, b: bigint): bigint => (a > b ? a : b);

const PLAYS: readonly [while_: string, play: Play][] = [
  ["", {}],
  [", while seats are deleted", { deletes: true }],
  [", while sessions are removed", { removes: true }],
  [", while both are", { deletes: true, removes: true }],
];

describe("in whatever order requests arrive", () => {
  for (const [meanwhile, how] of PLAYS)
    it(`no seat is taken from a session that lives, and tokens grow${meanwhile}`, async () => {
      const total = { grants: 0, takeovers: 0, deletions: 0, removals: 0 };
      for (let seed = 1; seed <= 300; seed++) {
        const { grants, takeovers, deletions, removals, faults } = await play(seed, how);
        expect(faults, `seed ${seed}`).toEqual([]);
        total.grants += grants;
        total.takeovers += takeovers;
        total.deletions += deletions;
        total.removals += removals;
      }
      expect(total.grants).toBeGreaterThan(500);
      expect(total.takeovers).toBeGreaterThan(100);
      if (how.deletes === true) expect(total.deletions).toBeGreaterThan(100);
      if (how.removes === true) expect(total.removals).toBeGreaterThan(100);
    }, 60_000);
});
