// The rules on which exclusion rests, one by one, on dynalite; with requests that are held back, lost, answered with errors and tried twice by a middleman.
import { DeleteItemCommand, GetItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createCandidate } from "conclave";
import {
  type Bid,
  type Claimed,
  type FencedStore,
  type KeepsMemos,
  type Seat,
  type Session,
  VACANT,
  type Version,
} from "conclave/stores/contract";
import { dynamodb } from "conclave/stores/dynamodb";
import * as server from "../../../scripts/servers/dynamodb.mjs";
import { useServers } from "../../support/servers.ts";
import { call, claim, hold, open } from "../moves.ts";
import { type Asked, Middleman } from "./middleman.ts";

const servers = useServers(server);
let middleman: Middleman;
let client: ReturnType<typeof server.clientOf>;
let store: FencedStore & KeepsMemos;
let names = 0;
let name = "";
beforeAll(async () => {
  const endpoint = servers().nodes[0]?.url ?? "";
  middleman = await Middleman.before(endpoint);
  client = server.clientOf(endpoint);
  store = dynamodb(middleman.url()) as unknown as FencedStore & KeepsMemos;
});
afterAll(async () => {
  await store.close();
  client.destroy();
  await middleman.stop();
});
beforeEach(() => {
  middleman.treat = () => undefined;
  middleman.asked.length = 0;
  name = `step-${++names}`;
});

const seat = async (): Promise<Seat> => {
  const looked = await store.look([{ name }], call());
  if (looked.kind !== "seen" || looked.seats[0] === undefined) throw new Error(looked.kind);
  return looked.seats[0];
};
const over = async (session: Session, version: Version, bid = `s${++names}.1` as Bid): Promise<Claimed> => {
  const [claimed] = await store.claim([{ session, name, bid, over: version, value: "" }], call());
  if (claimed === undefined) throw new Error("no answer");
  return claimed;
};
const remove = (key: string): Promise<unknown> =>
  client.send(new DeleteItemCommand({ TableName: server.TABLE, Key: { key: { S: key } } }));
const isWriteOf = (key: string) => (asked: Asked) => asked.verb === "UpdateItem" && asked.key === key;

/** Holds the first request that is `like` this back until it is let go. */
function holdBack(like: (asked: Asked) => boolean): { readonly met: Promise<void>; readonly letGo: () => void } {
  const { promise: met, resolve: meet } = withResolvers();
  const { promise: gone, resolve: letGo } = withResolvers();
  let isMet = false;
  middleman.treat = async (asked) => {
    if (isMet || !like(asked)) return undefined;
    isMet = true;
    meet();
    await gone;
    return undefined;
  };
  return { met, letGo };
}

function withResolvers(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}

describe("a seat", () => {
  it("is not taken by a claim whose write comes after another's, over the same version", async () => {
    const [late, quick] = [await open(store), await open(store)];
    await hold(store, late, name);
    const { version } = await seat();
    const gate = holdBack(isWriteOf(`seat/${name}`));
    const waiting = over(late, version);
    await gate.met;
    const [granted] = await store.claim([{ session: late, name, bid: "q.1" as Bid, over: version, value: "" }], call());
    expect(granted).toMatchObject({ kind: "granted", hold: { token: { value: 2n } } });
    gate.letGo();
    expect(await waiting).toMatchObject({ kind: "beaten", seat: { holder: { bid: "q.1" } } });
    expect((await over(quick, version)).kind).toBe("beaten");
  });

  it("is not taken from a holder that has renewed between the taker's reads and its writes", async () => {
    const [holder, taker] = [await open(store), await open(store)];
    const mine = await hold(store, holder, name);
    const { version } = await seat();
    const gate = holdBack(isWriteOf(`session/${holder.id}`));
    const taking = over(taker, version);
    await gate.met;
    expect(await store.keep(holder, [mine], call())).toMatchObject({ kind: "kept", lost: [] });
    gate.letGo();
    expect(await taking).toMatchObject({ kind: "beaten", seat: { state: "held", holder: { bid: mine.bid } } });
    expect(await store.keep(holder, [mine], call())).toMatchObject({ kind: "kept", lost: [] });
  });

  it("of a silent holder is taken after its session was ended, and no keep brings it back", async () => {
    const [silent, taker] = [await open(store), await open(store)];
    const mine = await hold(store, silent, name);
    const { version } = await seat();
    middleman.asked.length = 0;
    expect(await over(taker, version)).toMatchObject({ kind: "granted", hold: { token: { value: 2n } } });
    const written = middleman.asked.filter(({ verb }) => verb === "UpdateItem").map(({ key }) => key);
    expect(written).toEqual([`session/${silent.id}`, `seat/${name}`]);
    expect(await store.keep(silent, [mine], call())).toEqual({ kind: "session-lost" });
  });

  it("is given back only by its own session and bid", async () => {
    const [holder, other] = [await open(store), await open(store)];
    const mine = await hold(store, holder, name);
    await store.release({ session: other, holds: [mine], endSession: false }, call());
    await store.release({ session: holder, holds: [{ name, bid: "no.1" as Bid }], endSession: false }, call());
    expect((await seat()).state).toBe("held");
    await store.release({ session: holder, holds: [mine], endSession: false }, call());
    expect((await seat()).state).toBe("vacant");
  });

  it("carries nothing that could be a time to live, and nothing is ever deleted", async () => {
    const session = await open(store);
    const mine = await hold(store, session, name);
    await store.release({ session, holds: [mine], endSession: true }, call());
    const key = { key: { S: `seat/${name}` } };
    const { Item: item = {} } = await client.send(new GetItemCommand({ TableName: server.TABLE, Key: key }));
    expect(
      Object.entries(item)
        .flatMap(([attribute, { N: number }]) => (number === undefined ? [] : [attribute]))
        .toSorted(),
    ).toEqual(["era", "token", "ttlMs"]);
    expect(middleman.verbs()).not.toContain("DeleteItem");
  });
});

describe("a seat that was deleted", () => {
  it("is waited for as if it were held, for the longest ttl of its holders, and its holder hears of it", async () => {
    const [long, short] = [await open(store, 60_000), await open(store, 5_000)];
    const first = await hold(store, long, name);
    await store.release({ session: long, holds: [first], endSession: false }, call());
    const mine = await hold(store, short, name);
    await remove(`seat/${name}`);
    expect(await seat()).toMatchObject({ state: "missing", ttlMs: 60_000 });
    expect(await over(long, VACANT)).toMatchObject({ kind: "beaten", seat: { state: "missing" } });
    expect(await store.keep(short, [mine], call())).toMatchObject({ kind: "kept", lost: [mine] });
  });

  it("is made anew with a token above all before, by one of those that waited", async () => {
    const [first, second, third] = [await open(store), await open(store), await open(store)];
    const before = await hold(store, first, name);
    await remove(`seat/${name}`);
    const { version } = await seat();
    const claims = await Promise.all([over(second, version), over(third, version)]);
    expect(claims.map(({ kind }) => kind).toSorted()).toEqual(["beaten", "granted"]);
    const after = claims.find((each) => each.kind === "granted")?.hold.token?.value ?? 0n;
    expect(after).toBeGreaterThan(before.token?.value ?? 0n);
    expect(after).toBe((1n << 40n) + 1n);
  });

  it("and made anew by a claim that another has overtaken, is given back", async () => {
    const [late, quick] = [await open(store), await open(store)];
    const gate = holdBack(isWriteOf(`seat/${name}`));
    const waiting = over(late, VACANT);
    await gate.met; // it has made the name's item, and not its seat
    expect(await over(quick, (await seat()).version)).toMatchObject({ hold: { token: { value: (1n << 40n) + 1n } } });
    await remove(`seat/${name}`);
    gate.letGo();
    expect(await waiting).toMatchObject({ kind: "beaten" });
    expect((await seat()).state).toBe("vacant");
    const next = await claim(store, quick, name);
    expect(next).toMatchObject({ kind: "granted", hold: { token: { value: (2n << 40n) + 1n } } });
  });

  it("is waited for although the session is gone too", async () => {
    const holder = await open(store, 7_000);
    await hold(store, holder, name);
    await remove(`session/${holder.id}`);
    expect(await seat()).toMatchObject({ state: "missing", ttlMs: 7_000 });
  });
});

describe("a request without an answer", () => {
  it("was a claim that was applied: it is unknown, and the same bid is answered with its grant", async () => {
    const session = await open(store);
    middleman.treat = (asked) => (isWriteOf(`seat/${name}`)(asked) ? "unanswered" : undefined);
    const bid = "lost.1" as Bid;
    expect(await over(session, VACANT, bid)).toMatchObject({ kind: "unknown" });
    middleman.treat = () => undefined;
    expect(await over(session, VACANT, bid)).toMatchObject({ kind: "granted", hold: { token: { value: 1n } } });
    const kept = await store.keep(session, [], call());
    expect(kept).toMatchObject({ kind: "kept", strays: [{ name, bid }] });
  });

  it("was a keep that was applied: it is unknown, and the next one names its beat", async () => {
    const spec = { nonce: `b.${++names}`, candidate: "web", ttlMs: 9_000, beat: "b0" };
    await store.keep(spec, [], call());
    const session = { id: spec.nonce, candidate: "web", ttlMs: 9_000 };
    middleman.treat = () => "unanswered";
    expect(await store.keep({ ...session, beats: ["b0", "b1"] }, [], call(), { strays: false })).toMatchObject({
      kind: "unknown",
    });
    middleman.treat = () => undefined;
    expect((await store.keep({ ...session, beats: ["b0", "b1", "b2"] }, [], call())).kind).toBe("kept");
    expect((await store.keep({ ...session, beats: ["b0", "b1", "b3"] }, [], call())).kind).toBe("session-lost");
  });

  it("after the seat was made is unknown, whatever the error says", async () => {
    const session = await open(store);
    let isMade = false;
    middleman.treat = (asked) => {
      if (isMade) return { status: 400, type: "ThrottlingException" };
      isMade = isWriteOf(`seat/${name}`)(asked);
      return undefined;
    };
    expect(await over(session, VACANT)).toMatchObject({ kind: "unknown" });
  });
});

describe("a client that tries again by itself", () => {
  const borrowed = (): FencedStore => dynamodb(server.clientOf(middleman.endpoint), { table: server.TABLE });
  const failOnce = (like: (asked: Asked) => boolean): void => {
    let isDone = false;
    middleman.treat = (asked) => {
      if (isDone || !like(asked)) return undefined;
      isDone = true;
      return "unanswered";
    };
  };

  it("is answered with a conflict of its own making, which is seen to be that", async () => {
    const theirs = borrowed();
    failOnce(({ verb, key }) => verb === "UpdateItem" && key.startsWith("session/"));
    const session = await open(theirs);
    failOnce(isWriteOf(`seat/${name}`));
    const [claimed] = await theirs.claim([{ session, name, bid: "r.1" as Bid, over: VACANT, value: "" }], call());
    expect(claimed).toMatchObject({ kind: "granted", hold: { token: { value: 1n } } });
    failOnce(isWriteOf(`session/${session.id}`));
    expect(await theirs.keep(session, [{ name, bid: "r.1" as Bid }], call())).toMatchObject({ kind: "kept", lost: [] });
    expect(middleman.asked.filter(isWriteOf(`seat/${name}`))).toHaveLength(2);
  });

  it("ends with an error that says nothing of its earlier tries: unknown", async () => {
    const theirs = borrowed();
    const session = await open(theirs);
    let tries = 0;
    middleman.treat = (asked) => {
      if (!isWriteOf(`session/${session.id}`)(asked)) return undefined;
      return tries++ === 0 ? "unanswered" : { status: 400, type: "AccessDeniedException" };
    };
    expect(await theirs.keep(session, [], call())).toMatchObject({ kind: "unknown" });
    expect(tries).toBe(2);
  });
});

describe("requests", () => {
  it("read nothing that may be old", async () => {
    const [first, second] = [await open(store), await open(store)];
    const mine = await hold(store, first, name);
    await over(second, (await seat()).version);
    await store.keep(first, [mine], call());
    await store.readMemos(name, undefined, call());
    const reads = middleman.asked.filter(({ verb }) => /^(?:GetItem|BatchGetItem|Scan)$/.test(verb));
    expect(reads.length).toBeGreaterThan(5);
    for (const { body } of reads) {
      const batch = (body["RequestItems"] as Record<string, { ConsistentRead?: boolean }> | undefined)?.[server.TABLE];
      expect(batch?.ConsistentRead ?? body["ConsistentRead"]).toBe(true);
    }
  });

  it("are few: one for a renewal, two for a free seat, one to give it back, one to end all", async () => {
    const [session, other] = [await open(store), await open(store)];
    const first = await hold(store, other, name);
    await store.release({ session: other, holds: [first], endSession: false }, call());
    middleman.verbs();
    const claimed = await over(session, VACANT);
    expect(middleman.verbs()).toEqual(["BatchGetItem", "UpdateItem"]);
    if (claimed.kind !== "granted") throw new Error(claimed.kind);
    await store.keep(session, [], call(), { strays: false });
    expect(middleman.verbs()).toEqual(["UpdateItem"]);
    await store.keep(session, [claimed.hold], call(), { strays: false });
    expect(middleman.verbs().toSorted()).toEqual(["GetItem", "UpdateItem"]);
    await store.release({ session, holds: [claimed.hold], endSession: false }, call());
    expect(middleman.verbs()).toEqual(["UpdateItem"]);
    await store.release({ session, holds: [], endSession: true }, call());
    expect(middleman.verbs()).toEqual(["UpdateItem"]);
  });

  it("for more names than one read takes: one write and one read a renewal", async () => {
    const candidate = createCandidate({ store, ttlMs: 60_000, drainMs: 100, renewal: "manual" });
    const terms = await Promise.all(
      Array.from({ length: 150 }, (_, index) => candidate.election(`many-${name}-${index}`).campaign()),
    );
    await terms[0]?.renew();
    middleman.verbs();
    await terms[0]?.renew();
    expect(middleman.verbs().toSorted()).toEqual(["BatchGetItem", "UpdateItem"]);
    expect(terms.filter((term) => !term.isHeld())).toEqual([]);
    await candidate.close();
  }, 60_000);
});

describe("a throttled table", () => {
  it("is no loss: the term goes on until the deadline, and through it when the table answers in time", async () => {
    await using candidate = createCandidate({
      store,
      ttlMs: 3_000,
      logger: { ...console, warn() {}, error() {}, info() {}, debug() {} },
    });
    const states: string[] = [];
    candidate.subscribe((event) => void (event.type === "state" && states.push(event.state)));
    const term = await candidate.election(name).campaign();
    middleman.treat = () => ({ status: 400, type: "ProvisionedThroughputExceededException" });
    await expect.poll(() => states.at(-1), { timeout: 5_000 }).toBe("jeopardy");
    expect(term.isHeld()).toBe(true);
    middleman.treat = () => undefined;
    await expect.poll(() => states.at(-1), { timeout: 5_000 }).toBe("safe");
    expect(term.isHeld()).toBe(true);
  }, 20_000);

  it("that leaves a read unprocessed has refused it", async () => {
    const session = await open(store);
    middleman.treat = ({ verb, body }) =>
      verb === "BatchGetItem" ? { answer: { Responses: {}, UnprocessedKeys: body["RequestItems"] } } : undefined;
    expect(await over(session, VACANT)).toMatchObject({ kind: "refused", code: "STORE_UNREACHABLE", retryable: true });
  });
});

describe("a memo", () => {
  it("of a term that was replaced while it was on its way is refused", async () => {
    const [first, second] = [await open(store), await open(store)];
    const mine = await hold(store, first, name);
    const gate = holdBack(isWriteOf(`seat/${name}`));
    const writing = store.writeMemo(
      { session: first, hold: mine, key: "k", value: "old", n: 1, over: undefined },
      call(),
    );
    await gate.met;
    expect((await over(second, (await seat()).version)).kind).toBe("granted");
    gate.letGo();
    expect(await writing).toEqual({ kind: "seat-lost" });
    expect(await store.readMemos(name, "k", call())).toEqual({ kind: "memos", memos: [] });
  });
});
