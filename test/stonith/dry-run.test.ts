// The dry run of an order to fence: it is refused exactly what the order would be refused, and it says all of it.
import {
  decisionOf,
  type DecisionOptions,
  parseStonithConfig,
  type StonithRecord,
  type StonithStatus,
} from "conclave/stonith";
import type { Store } from "conclave/stores/contract";
import { memory } from "conclave/stores/memory";
import { describe, expect, it } from "vitest";
import { NO_RECORD } from "../../src/stonith/record.ts";
import { acted, intent, stint } from "./desk.ts";

const NODE = { levels: [[{ kind: "command", off: ["/bin/true"], status: ["/bin/true"] }]] };
const CONFIG = parseStonithConfig(
  JSON.stringify({ election: "ledger", nodes: { a: NODE, b: NODE, c: NODE }, shotsMax: 1 }),
  "the test",
);
const BY_B = { id: "host_0123456789abcdef-1", token: 5n } as StonithStatus["leader"];

function status(record: Partial<StonithRecord> = {}, leader?: StonithStatus["leader"]): StonithStatus {
  return { election: "ledger", record: { ...NO_RECORD, ...record }, leader, bans: [] };
}

async function would(node: string, found: StonithStatus, more: Partial<DecisionOptions> = {}): Promise<string> {
  const asked = { config: CONFIG, store: memory(), status: found, isForTests: true, wayAround: "--for-tests", ...more };
  const { isAllowed, reasons } = await decisionOf(node, asked);
  return `${isAllowed ? "shot" : "NOT shot"}: ${reasons.join("; ")}`;
}

function withLine(showNodeless: () => Promise<object>): Store {
  return Object.assign(memory(), { showNodeless });
}

describe("an order to fence, as a dry run", () => {
  it("is refused by a store that may forget a ban, unless somebody leads through it already", async () => {
    const isForTests = false;
    expect(await would("a", status(), { isForTests })).toMatch(
      /^NOT shot: .*may forget a ban.* In tests: --for-tests\./,
    );
    expect(await would("a", status({ acting: [acted("b", "5")] }, BY_B), { isForTests })).toMatch(/^shot: .*b leads/);
    expect(await would("a", status(), { store: memory({ layout: "swap" }) })).toMatch(/^NOT shot: .*keeps no bans/);
  });

  it("is refused against the node of the leader, also of one that has not begun its work", async () => {
    const own = /^NOT shot: b is the node of this leader/;
    expect(await would("b", status({ acting: [acted("b", "5")] }, BY_B))).toMatch(own);
    expect(await would("b", status({ intents: [intent("c", [stint("b", "5")])] }, BY_B))).toMatch(own);
    expect(await would("b", status(), { from: "b" })).toMatch(own);
    expect(await would("b", status({}, BY_B))).toMatch(/^shot: .*If it is on b, it refuses/);
  });

  it("is refused while too many are off, and by no limit of how often is shot, which orders do not have", async () => {
    const off = [{ node: "c", since: "4.1" }];
    expect(await would("a", status({ off }))).toMatch(/^NOT shot: at most 1 may be off.*: a, c would be/);
    expect(await would("a", status({ recentMs: [Date.now(), Date.now()] }))).toMatch(/^shot/);
  });

  it("is refused while candidates that obey no ban are in the line, or nobody knows whether some are", async () => {
    const strangers = withLine(() => Promise.resolve({ kind: "nodeless", candidates: ["go-1"] }));
    expect(await would("a", status(), { store: strangers })).toMatch(/^NOT shot: .*obey no bans.*: go-1/);
    const unread = withLine(() => Promise.resolve({ kind: "unknown", cause: new Error("no answer") }));
    expect(await would("a", status(), { store: unread })).toMatch(
      /^NOT shot: .*it is not known who stands in the line/,
    );
    const foreign = { ...BY_B, id: "go-2" } as StonithStatus["leader"];
    expect(await would("a", status({}, foreign))).toMatch(/^NOT shot: .*: go-2/);
  });
});
