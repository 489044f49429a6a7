// A claim of one name over a free seat is answered before the rest of its script runs (src/stores/redis/lua/free.lua). In every state of the session and of the seat, the script must answer what it answers
// without that part, and leave the same behind.
import { createHash } from "node:crypto";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as server from "../../../scripts/servers/redis.mjs";
import { SCRIPTS } from "../../../src/stores/redis/scripts.ts";
import { useServers } from "../../support/servers.ts";

const servers = useServers(server);
let client: Redis;
beforeAll(() => {
  client = new Redis(servers().urls[0] ?? "");
});
afterAll(() => client?.disconnect());

const PREFIX = "compared";
const SESSION = `${PREFIX}:session:s1`;
const OTHER = `${PREFIX}:session:s2`;
const FAR = String(4_000_000_000_000);
const KEYS = { ours: `${PREFIX}:seat:x`, redlock: "x" } as const;
const heldBy = (session: string, bid: string, value = ""): string =>
  `conclave\n${session}\n${bid}\n600000 2\nme${value}`;

type Step = readonly string[];
const SESSIONS: Readonly<Record<string, readonly Step[]>> = {
  unknown: [],
  open: [["HSET", SESSION, "ttl", "600000", "until", FAR, "ended", "", "candidate", "me"]],
  "open, and never said to be ended": [["HSET", SESSION, "ttl", "600000", "until", FAR, "candidate", "me"]],
  "open, without a candidate": [["HSET", SESSION, "ttl", "600000", "until", FAR]],
  expired: [["HSET", SESSION, "ttl", "600000", "until", "1000", "ended", "", "candidate", "me"]],
  ended: [["HSET", SESSION, "ttl", "600000", "until", FAR, "ended", "1", "candidate", "me"]],
  "with half a record": [["HSET", SESSION, "ttl", "600000", "ended", ""]],
  "with a ttl that is no number": [["HSET", SESSION, "ttl", "long", "until", FAR, "ended", ""]],
  "of another type": [["SET", SESSION, "somebody's"]],
};

const seats = (key: string): Readonly<Record<string, readonly Step[]>> => ({
  none: [],
  "given back by another bid": [["SET", key, "conclave was\nb.0"]],
  "given back by this bid": [["SET", key, "conclave was\nb.1"]],
  "given back by a longer bid": [["SET", key, "conclave was\nb.1.2"]],
  "given back by no bid": [["SET", key, "conclave was\n"]],
  "held by this bid": [["SET", key, heldBy("s1", "b.1"), "PX", "60000"]],
  "held by this bid with another value": [["SET", key, heldBy("s1", "b.1", "old"), "PX", "60000"]],
  "held by another bid of this session": [["SET", key, heldBy("s1", "b.0"), "PX", "60000"]],
  "held by another session": [
    ["SET", key, heldBy("s2", "c.1"), "PX", "60000"],
    ["HSET", OTHER, "ttl", "600000", "until", FAR, "ended", "", "candidate", "other", "hold:x", "c.1"],
  ],
  "held by an expired session": [
    ["SET", key, heldBy("s2", "c.1"), "PX", "60000"],
    ["HSET", OTHER, "ttl", "600000", "until", "1000", "ended", "", "candidate", "other", "hold:x", "c.1"],
  ],
  "held by an unknown session": [["SET", key, heldBy("s2", "c.1"), "PX", "60000"]],
  "an empty text": [["SET", key, ""]],
  "a text of somebody": [["SET", key, "somebody's", "PX", "60000"]],
  "a text of somebody that stays": [["SET", key, "somebody's"]],
  "of another type": [["RPUSH", key, "1"]],
});

/** What layout redlock remembers beside the key. */
const WAS: Readonly<Record<string, readonly Step[]>> = {
  nothing: [],
  "another bid": [["SET", `${PREFIX}:was:x`, "b.0"]],
  "this bid": [["SET", `${PREFIX}:was:x`, "b.1"]],
  "something of another type": [["RPUSH", `${PREFIX}:was:x`, "1"]],
};

const CLAIMS: Readonly<Record<string, readonly string[]>> = {
  "over vacant": ["", "", "s1", "b.1", "vacant", "v"],
  "over a version": ["", "", "s1", "b.1", "-b.0", "v"],
  "at a server that is one of several": ["", "1", "s1", "b.1", "vacant", "v"],
  "at a server that was started lately": ["99999999999", "", "s1", "b.1", "vacant", "v"],
};

/** The answer, or the error without its place; how often something was published; and every key with its type, its content, and about how long it lasts. */
async function play(script: string, key: string, before: readonly Step[], args: readonly string[]): Promise<string> {
  const sha = createHash("sha1").update(script).digest("hex");
  const steps = [["FLUSHALL"], ...before, ["CONFIG", "RESETSTAT"], ["EVALSHA", sha, "2", PREFIX, key, ...args]];
  const replies = await client.pipeline([...steps, ["INFO", "commandstats"], ["KEYS", "*"]].map(asCommand)).exec();
  const [[error, answer] = [], [, stats] = [], [, keys] = []] = replies?.slice(-3) ?? [];
  const published = /cmdstat_publish:calls=\d+/.exec(String(stats))?.[0];
  const left: unknown[] = [];
  for (const each of (keys as string[]).toSorted()) {
    const type = await client.type(each);
    const read = { string: ["GET", each], hash: ["HGETALL", each], list: ["LRANGE", each, "0", "-1"] }[type] ?? [];
    const [content, lasts] = (await client.pipeline([asCommand(read), ["call", "PTTL", each]]).exec()) ?? [];
    left.push([each, content?.[1], aboutMs(Number(lasts?.[1]))]);
  }
  const told = error?.message.replaceAll(/[0-9a-f]{40}|:\d+/g, "") ?? withoutLeft(String(answer));
  // The clock of the server stands in what a session is extended to.
  return JSON.stringify([told, published, left]).replaceAll(/"1[67]\d{11}"/g, '"now"');
}

/** For how long a seat is held yet changes while the two are compared; and Lua writes the fields of a table in any order. */
function withoutLeft(answer: string): unknown {
  return JSON.parse(answer, (field, value: unknown) => {
    if (field === "left") return "so many ms";
    return typeof value === "object" && !Array.isArray(value)
      ? Object.entries(value ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1))
      : value;
  });
}

/** The same for two times that differ by a second in a minute. */
function aboutMs(ms: number): number {
  return ms < 0 ? ms : Math.round(20 * Math.log2(ms));
}

function asCommand(words: Step): string[] {
  return ["call", ...words];
}

describe.each(["ours", "redlock"] as const)("layout %s", (layout) => {
  const whole = SCRIPTS[layout].claim.text;
  const withoutFree = whole.replace(/^if #KEYS == 2[\s\S]*?^end$/m, "");

  it.each(Object.keys(SESSIONS))("a session that is %s", async (session) => {
    expect(withoutFree.length).toBeLessThan(whole.length - 500);
    for (const text of [whole, withoutFree]) await client.script("LOAD", text);
    const granted: string[] = [];
    for (const [seat, put] of Object.entries(seats(KEYS[layout])))
      for (const [was, remembered] of Object.entries(layout === "ours" ? { nothing: [] } : WAS))
        for (const [claim, args] of Object.entries(CLAIMS)) {
          const before = [...(SESSIONS[session] ?? []), ...put, ...remembered];
          const [quick, slow] = [
            await play(whole, KEYS[layout], before, args),
            await play(withoutFree, KEYS[layout], before, args),
          ];
          expect([seat, was, claim, quick]).toEqual([seat, was, claim, slow]);
          if (quick.includes("granted")) granted.push(seat);
        }
    if (session.startsWith("open")) expect(granted).toContain("none");
    else expect(granted).toEqual([]);
  });
});
