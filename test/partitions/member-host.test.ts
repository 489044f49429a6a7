// A member says which partitions have stopped, one statement at a time. A statement that is due while another is written follows it, in whatever order the two events come.
import { expect, it } from "vitest";
import type { Election } from "conclave";
import { fakeTerm } from "conclave/testing";
import { nodeClock } from "../../src/election/clock.ts";
import { type Chunk, formatChunk, sessionRef } from "../../src/partitions/chunk.ts";
import { digestOf } from "../../src/partitions/bid-digest.ts";
import { MemberHost } from "../../src/partitions/member-host.ts";
import { formatIndex, parseStatement } from "../../src/partitions/texts.ts";

const BY = { token: 7n, bid: "controller.1" };

/** Does both in this step, or the second a few microtasks after the first. */
async function one(first: () => void, second: () => void, apart: number): Promise<void> {
  first();
  for (let turn = 0; turn < apart; turn++) await Promise.resolve();
  second();
}

const macrotask = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const ORDERS = (["the work ends", "the statement is acknowledged"] as const).flatMap((first) =>
  Array.from({ length: 12 }, (_, apart) => [first, apart] as const),
);

it.each(ORDERS)(
  "the last statement says that everything has stopped: %s, and %d steps later the other comes",
  async (first, apart) => {
    const term = fakeTerm();
    const session = sessionRef("m", term.token.value, digestOf(term.token.bid));
    const chunk = (n: number, isRevoked: boolean): Chunk => {
      const [epoch, revision] = [1, n].map((count) => ({ term: BY, n: count })) as [
        Chunk["revision"],
        Chunk["revision"],
      ];
      const entry = { owner: session, epoch, revokedAt: isRevoked ? revision : undefined };
      return { revision, entries: [entry, entry] };
    };
    let present = chunk(1, false);
    let ring = (): void => {};
    const controller = {
      memo: async () => ({ value: formatChunk(present) }),
      async *observeMemo(_key: string, { signal }: { signal: AbortSignal }) {
        while (!signal.aborted) {
          const { token } = BY;
          const revisions = [{ token, n: present.revision.n }];
          yield { value: formatIndex({ count: 2, chunkSize: 2, domain: "d", revisions }) };
          await new Promise<void>((resolve) => {
            ring = resolve;
            signal.addEventListener("abort", () => resolve(), { once: true });
          });
        }
      },
    };
    const written: string[] = [];
    let acknowledge = (): void => {};
    Object.assign(term, {
      anyMemo: async (_key: string, value: string) => {
        await new Promise<void>((resolve) => (acknowledge = resolve));
        written.push(value);
      },
    });
    const stops: (() => void)[] = [];
    const host = new MemberHost({
      group: "g",
      id: "m",
      weight: 1,
      zone: undefined,
      count: 2,
      clock: nodeClock(),
      term,
      controller: controller as unknown as Election,
      work: async (partition) => new Promise<void>((resolve) => (stops[partition] = resolve)),
      report: (error) => expect.unreachable(String(error)),
    });
    const running = host.run();
    acknowledge(); // the first statement, which says nothing
    await macrotask();
    present = chunk(2, true);
    ring();
    await macrotask(); // both are asked to stop, and the statement that says so is on its way
    stops[0]?.();
    await macrotask();
    acknowledge();
    await macrotask(); // that the first has stopped is on its way
    const [stop, done] = [(): void => stops[1]?.(), (): void => acknowledge()];
    if (first === "the work ends") await one(stop, done, apart);
    else await one(done, stop, apart);
    await macrotask();
    acknowledge();
    await macrotask();
    expect(written.map((text) => parseStatement(text).acks[0]?.stopping)).toEqual([undefined, [0, 1], [1], []]);
    term.lose();
    await running;
  },
);
