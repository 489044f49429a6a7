// The etcd driver, one request at a time, against a model of etcd: what others do between two requests of one call must not make two leaders, lose a loss, or
// take what is another's.
import { describe, expect, it } from "vitest";
import { asBid, type Claimed, type Hint, type Hold, type Session } from "conclave/stores/contract";
import { endLease, keepLease, openLease } from "../../../src/stores/etcd/keep.ts";
import { leaseOfNonce, sessionOfLease } from "../../../src/stores/etcd/entry.ts";
import { type EtcdPost, standSentries } from "../../../src/stores/etcd/sentry.ts";
import { joinAll, leaveAll } from "../../../src/stores/etcd/stand.ts";
import { ModelEtcd } from "../../clients/etcd/model-etcd.ts";

const { signal } = new AbortController();
const PREFIX = "";

function stage(): { readonly model: ModelEtcd; readonly session: (id: bigint) => Session } {
  const model = new ModelEtcd();
  const session = (id: bigint): Session => {
    model.leases.set(id, 10);
    return { id: sessionOfLease(id), candidate: `c${id}`, ttlMs: 10_000 };
  };
  return { model, session };
}

async function join(
  model: ModelEtcd,
  session: Session,
  name = "x",
  bid = `b${session.id}`,
  value = "",
): Promise<Claimed> {
  const [claimed] = await joinAll(model.link, PREFIX, [{ session, name, bid: asBid(bid), value }], signal);
  if (claimed === undefined) throw new Error("no answer");
  return claimed;
}

async function joined(model: ModelEtcd, session: Session, name = "x", bid?: string): Promise<Hold> {
  const claimed = await join(model, session, name, bid);
  if (claimed.kind !== "granted" && claimed.kind !== "waiting") throw new Error(claimed.kind);
  return claimed.hold;
}

describe("joining the queue", () => {
  it("the first is granted, the second waits, and each keeps its token when it asks again", async () => {
    const { model, session } = stage();
    const [a, b] = [session(1n), session(2n)];
    const first = await join(model, a);
    expect(first).toMatchObject({ kind: "granted", hold: { token: { value: model.at("x/1")?.createRevision } } });
    expect(await join(model, b)).toMatchObject({ kind: "waiting", ahead: 1 });
    expect(await join(model, a)).toEqual(first);
    const standing = model.at("x/2")?.createRevision;
    model.revoke(1n);
    expect(await join(model, b)).toMatchObject({ kind: "granted", hold: { token: { value: standing } } });
    expect(await join(model, session(3n))).toMatchObject({ kind: "waiting", ahead: 1 });
  });

  it("is granted if the one before has gone while the place was looked for", async () => {
    const { model, session } = stage();
    await join(model, session(1n));
    model.before = (request) => void (request === 2 && model.delete("x/1"));
    expect(await join(model, session(2n))).toMatchObject({ kind: "granted" });
  });

  it("is unknown if the own entry has gone, or another was made in its place, while the place was looked for", async () => {
    for (const isMadeAgain of [false, true]) {
      const { model, session } = stage();
      await join(model, session(1n));
      model.before = (request) => {
        if (request !== 2) return;
        model.delete("x/1");
        model.delete("x/2");
        if (isMadeAgain) model.put("x/2", "{}", 2n);
      };
      expect(await join(model, session(2n))).toMatchObject({ kind: "unknown" });
    }
  });

  it("an entry is bound to the lease of its session, also after its value was written anew", async () => {
    const { model, session } = stage();
    const a = session(1n);
    for (const value of ["", "anew"]) {
      await join(model, a, "x", "b1", value);
      expect(model.at("x/1")?.lease).toBe(1n);
    }
    expect(model.at("x/1")?.value.toString()).toContain("anew");
  });

  it("is unknown if the own entry has gone while its value was written, and makes no other", async () => {
    const { model, session } = stage();
    const a = session(1n);
    await join(model, a);
    model.before = (request) => void (request === 2 && model.delete("x/1"));
    expect(await join(model, a, "x", "b1", "anew")).toMatchObject({ kind: "unknown" });
    expect(model.at("x/1")).toBeUndefined();
  });

  it("an entry of an earlier attempt is said, and not taken over", async () => {
    const { model, session } = stage();
    const a = session(1n);
    await join(model, a, "x", "before");
    const stood = model.at("x/1");
    expect(await join(model, a, "x", "now")).toEqual({ kind: "leftover", bid: "before" });
    expect(model.at("x/1")).toEqual(stood);
  });

  it("what somebody else has written to the own key is refused, and left", async () => {
    const { model, session } = stage();
    const a = session(1n);
    model.put("x/1", "another's", 1n);
    expect(await join(model, a)).toMatchObject({ kind: "refused", code: "STORE_FOREIGN_DATA" });
    expect(model.at("x/1")?.value.toString()).toBe("another's");
  });

  it("a session that is over is said to be, and no other with it", async () => {
    const { model, session } = stage();
    const [a, b] = [session(1n), session(2n)];
    model.leases.delete(1n);
    const claims = [a, b].map((each) => ({ session: each, name: "x", bid: asBid("b"), value: "" }));
    const answers = await joinAll(model.link, PREFIX, claims, signal);
    expect(answers.map(({ kind }) => kind)).toEqual(["session-lost", "granted"]);
  });

  it("keys of longer names are none of this queue, however many; who stands behind them is", async () => {
    const { model, session } = stage();
    session(9n);
    for (let each = 0; each < 1001; each++) model.put(`x/longer/${each}`, "", 9n);
    const alone = session(1n);
    expect(await join(model, alone)).toMatchObject({ kind: "granted" });
    expect(await join(model, session(2n))).toMatchObject({ kind: "waiting", ahead: 1 });
  });

  it("who stands already asks by reads alone, and joins anew at the end if its entry is gone", async () => {
    const { model, session } = stage();
    const [a, b] = [session(1n), session(2n)];
    const names = ["x", "y"];
    for (const name of names) {
      await join(model, a, name);
      await join(model, b, name);
    }
    const tokens = (): readonly unknown[] => names.map((name) => model.at(`${name}/1`)?.createRevision);
    const claims = names.map((name) => ({ session: a, name, bid: asBid("b1"), value: "", stands: true as const }));
    const asked = model.txns.length;
    const answers = await joinAll(model.link, PREFIX, claims, signal);
    expect(model.txns.slice(asked)).toMatchObject([{ compare: [], failure: [] }]);
    expect(model.txns.at(-1)?.success.every((each) => "range" in each)).toBe(true);
    expect(answers.map(({ kind }) => kind)).toEqual(["granted", "granted"]);
    expect(answers.map((each) => (each.kind === "granted" ? each.hold.token?.value : undefined))).toEqual(tokens());
    model.delete("y/1");
    const anew = await joinAll(model.link, PREFIX, claims, signal);
    expect(anew).toMatchObject([{ kind: "granted" }, { kind: "waiting", ahead: 1 }]);
    expect(model.at("y/1")).toBeDefined();
  });

  it("a grant confirms the last renewal if the same member has answered both in the same raft term, and only then", async () => {
    for (const change of [undefined, "memberId", "raftTerm", "nobody's"] as const)
      for (const isBehindOthers of [false, true]) {
        const { model, session } = stage();
        const [a, b] = [session(1n), session(2n)];
        if (isBehindOthers) model.put("x/longer/9", "", 1n);
        await join(model, a);
        await join(model, b);
        const wish = { proof: false, strays: false } as const;
        const kept = await keepLease(model.link, PREFIX, b, [], wish, signal);
        if (kept.kind !== "kept" || kept.witness === undefined) throw new Error("no witness");
        expect(kept.proves).toBe(false);
        model.delete("x/1");
        if (change === "memberId" || change === "raftTerm") model[change]++;
        const witness = change === "nobody's" ? change : kept.witness;
        const claim = { session: b, name: "x", bid: asBid(`b${b.id}`), value: "", stands: true, witness } as const;
        const [claimed] = await joinAll(model.link, PREFIX, [claim], signal);
        expect(claimed?.kind).toBe("granted");
        const confirms = claimed?.kind === "granted" ? claimed.confirms : undefined;
        expect(confirms, `${change} ${isBehindOthers}`).toBe(change === undefined ? true : undefined);
        const { witness: _, ...without } = claim;
        expect((await joinAll(model.link, PREFIX, [without], signal))[0]).not.toHaveProperty("confirms");
      }
  });

  it("data that no lease carries never goes away: it is refused, and nothing of ours is left behind it", async () => {
    const { model, session } = stage();
    model.put("x/data", "somebody's", 0n);
    expect(await join(model, session(1n))).toMatchObject({ kind: "refused", code: "STORE_FOREIGN_DATA" });
    expect(model.at("x/1")).toBeUndefined();
    expect(model.at("x/data")).toBeDefined();
  });
});

describe("leaving the queue", () => {
  it("takes away the entry of its own attempt, known by its token or not", async () => {
    for (const isKnown of [true, false]) {
      const { model, session } = stage();
      const a = session(1n);
      const { name, bid, token } = await joined(model, a);
      await leaveAll(model.link, PREFIX, a, [{ name, bid, token: isKnown ? token : undefined }], signal);
      expect(model.at("x/1")).toBeUndefined();
    }
  });

  it("an entry of the same attempt that was made later is taken away, too", async () => {
    const { model, session } = stage();
    const a = session(1n);
    const hold = await joined(model, a);
    model.delete("x/1");
    await joined(model, a); // a claim that was applied twice
    await leaveAll(model.link, PREFIX, a, [hold], signal);
    expect(model.at("x/1")).toBeUndefined();
  });

  it("leaves the entry of a later attempt, also if that is made between the look and the deletion", async () => {
    for (const beforeRequest of [0, 1]) {
      const { model, session } = stage();
      const a = session(1n);
      const { name, bid } = await joined(model, a, "x", "old");
      const asked = model.asked.length;
      const standsAnew = (): void => {
        model.delete("x/1");
        model.put("x/1", JSON.stringify({ id: "c1", bid: "new", ttlMs: 1, value: "" }), 1n);
      };
      model.before = (request) => void (request === asked + beforeRequest && standsAnew());
      await leaveAll(model.link, PREFIX, a, [{ name, bid, token: undefined }], signal);
      expect(model.at("x/1")?.value.toString()).toContain('"new"');
    }
  });
});

describe("a renewal", () => {
  const keep = (model: ModelEtcd, session: Session, holds: readonly Hold[]) =>
    keepLease(model.link, PREFIX, session, holds, {}, signal);

  it("is confirmed by a read that follows it, and that no member answers from its own memory", async () => {
    const { model, session } = stage();
    const a = session(1n);
    const hold = await joined(model, a);
    const asked = model.asked.length;
    expect(await keep(model, a, [hold])).toMatchObject({ kind: "kept", lost: [], strays: [] });
    expect(model.asked.slice(asked, asked + 2)).toEqual(["keepAlive", "txn"]);
    expect(model.txns.at(-1)?.success.some((each) => "range" in each)).toBe(true);
  });

  it("counts only if the same member confirms it in the same raft term, for every hold", async () => {
    for (const [count, atRequest] of [
      [0, 1],
      [1, 1],
      [150, 2],
    ] as const)
      for (const change of ["memberId", "raftTerm"] as const) {
        const { model, session } = stage();
        const a = session(1n);
        const holds: Hold[] = [];
        for (let each = 0; each < count; each++) holds.push(await joined(model, a, `x${each}`));
        const asked = model.asked.length;
        model.before = (request) => void (request === asked + atRequest && model[change]++);
        await expect(keep(model, a, holds), `${count} ${change}`).rejects.toThrow(/changed its leader/);
      }
  });

  it("of a lease that is gone is lost, also if the renewal was answered as if it were there", async () => {
    const { model, session } = stage();
    const a = session(1n);
    model.before = (_, method) => void (method === "timeToLive" && model.leases.delete(1n));
    expect(await keep(model, a, [])).toEqual({ kind: "session-lost" });
    expect(await keep(model, a, [])).toEqual({ kind: "session-lost" });
    const wish = { strays: false } as const;
    expect(await keepLease(model.link, PREFIX, a, [], wish, signal)).toEqual({ kind: "session-lost" });
  });

  it("tells which holds are gone, also if another entry of the same attempt stands there", async () => {
    for (const token of ["known", "unknown"]) {
      const { model, session } = stage();
      const a = session(1n);
      const [x, y, z] = [await joined(model, a, "x"), await joined(model, a, "y"), await joined(model, a, "z")];
      model.delete("x/1");
      model.delete("y/1");
      await joined(model, a, "y");
      const others = token === "known" ? [z] : [{ name: z.name, bid: z.bid }];
      expect(await keep(model, a, [x, y, ...others])).toMatchObject({ kind: "kept", lost: [x, y] });
    }
  });

  it("shows what else the lease carries, and nothing of others", async () => {
    const { model, session } = stage();
    const [a, b] = [session(1n), session(2n)];
    const x = await joined(model, a, "x");
    await joined(model, a, "y", "stray");
    await joined(model, b, "z");
    model.put("not an entry", "data", 1n);
    expect(await keep(model, a, [x])).toMatchObject({ strays: [{ name: "y", bid: "stray" }] });
  });
});

describe("a session", () => {
  const spec = { nonce: "n", candidate: "a", ttlMs: 9500 };
  const open = (model: ModelEtcd, wasGranted: boolean) => openLease(model.link, "", spec, wasGranted, signal);

  it("has the seconds that etcd has granted, and opened twice is one", async () => {
    const { model } = stage();
    const opened = await open(model, false);
    expect(opened).toMatchObject({ kind: "kept", session: { ttlMs: 10_000 } });
    expect(await open(model, false)).toEqual(opened);
    expect(model.leases.size).toBe(1);
  });

  it("that was answered once and is gone is not granted again", async () => {
    const { model } = stage();
    await open(model, false);
    model.revoke(leaseOfNonce("n"));
    expect(await open(model, true)).toEqual({ kind: "session-lost" });
    expect(model.leases.size).toBe(0);
  });

  it("that ends between the refusal to grant it again and the look at it is lost", async () => {
    const { model } = stage();
    await open(model, false);
    model.before = (_, method) => void (method === "timeToLive" && model.leases.clear());
    expect(await open(model, false)).toEqual({ kind: "session-lost" });
  });

  it("is ended with everything in it, and twice is once", async () => {
    const { model, session } = stage();
    const a = session(1n);
    await joined(model, a);
    await endLease(model.link, a, signal);
    await endLease(model.link, a, signal);
    expect(model.at("x/1")).toBeUndefined();
  });
});

describe("a watch", () => {
  async function watch(
    model: ModelEtcd,
    session: Session,
    bid: string,
    stops = new Set<() => void>(),
  ): Promise<readonly Hint[]> {
    const hints: Hint[] = [];
    const post: EtcdPost = {
      link: model.link,
      prefix: PREFIX,
      signal,
      stops,
      hint: (hint) => hints.push(hint),
      end: () => {},
    };
    await standSentries(post, [{ name: "x", bid: asBid(bid), session }]);
    await new Promise((resolve) => setImmediate(resolve));
    return hints;
  }

  it("misses nothing that happens between the look and its beginning", async () => {
    for (const key of ["x/1", "x/2"]) {
      const { model, session } = stage();
      const [a, b] = [session(1n), session(2n)];
      await joined(model, a);
      await joined(model, b);
      const reads = key === "x/1" ? 2 : 1; // the last look before that watch
      const asked = model.asked.length;
      model.after = (request) => void (request === asked + reads - 1 && model.delete(key));
      const hints = await watch(model, b, `b${b.id}`);
      const expected = key === "x/1" ? { place: { present: true, ahead: 0 } } : { state: "vacant" };
      expect(hints.map(({ seat }) => seat)).toContainEqual(expect.objectContaining(expected));
    }
  });

  it("says that the own entry is gone, or another attempt's", async () => {
    for (const bid of ["none", undefined]) {
      const { model, session } = stage();
      const a = session(1n);
      if (bid !== undefined) await joined(model, a);
      expect(await watch(model, a, bid ?? "b1")).toMatchObject([{ seat: { state: "vacant" } }]);
    }
  });

  it("does not wake who is not the next", async () => {
    const { model, session } = stage();
    const [a, b, c] = [session(1n), session(2n), session(3n)];
    for (const each of [a, b, c]) await joined(model, each);
    const hints = await watch(model, c, "b3");
    for (const gone of ["x/2", "x/1"]) {
      expect(hints).toEqual([]);
      model.delete(gone);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(hints).toMatchObject([{ seat: { place: { present: true, ahead: 0 } } }]);
  });

  it("cancels nothing while its candidate asks for its place, hears no more of the one before, and leaves nothing behind", async () => {
    const { model, session } = stage();
    const [a, b] = [session(1n), session(2n)];
    for (const each of [a, b]) await joined(model, each);
    const stops = new Set<() => void>();
    const hints = await watch(model, b, "b2", stops);
    model.delete("x/1");
    expect({ hints: hints.length, watching: model.watching }).toEqual({ hints: 1, watching: 2 });
    await joined(model, a);
    model.delete("x/1");
    expect(hints.length).toBe(1);
    for (const stop of stops) stop();
    expect(model.watching).toBe(0);
  });
});
