// The rules on which exclusion rests, one by one, on the API server of this repository: what others do to a Lease, what the network does to a request.
import { afterEach, describe, expect, it } from "vitest";
import { type FencedStore, type KeepsMemos, VACANT } from "conclave/stores/contract";
import { isReal } from "../../../scripts/servers/api-server.mjs";
import * as server from "../../../scripts/servers/kubernetes.mjs";
import { useServers } from "../../support/servers.ts";
import { open } from "../moves.ts";
import { aBid, aName, call, claimOver, type Ran, seatOf, Stage, win } from "./stage.ts";

const servers = useServers(server) as () => Ran;
const stage = new Stage(servers);
afterEach(() => stage.end());

describe("a renewal", () => {
  it("of a Lease that was deleted is a loss, and does not bring it back", async () => {
    const [store, name] = [stage.store(), aName()];
    const session = await open(store);
    const hold = await win(store, session, name);
    await stage.delete(name);
    expect(await store.keep(session, [hold], call())).toMatchObject({ kind: "kept", lost: [hold] });
    expect((await stage.ask("GET", name)).status).toBe(404);
  });

  it("of a Lease that was deleted and made again by another is a loss", async () => {
    const [store, rival, name] = [stage.store(), stage.store(), aName()];
    const session = await open(store);
    const hold = await win(store, session, name);
    await stage.delete(name);
    const next = await win(rival, await open(rival), name);
    expect(await store.keep(session, [hold], call())).toMatchObject({ kind: "kept", lost: [hold] });
    expect(next.token?.value).toBeGreaterThan(hold.token?.value ?? 0n);
    expect((await seatOf(store, name)).holder?.bid).toBe(next.bid);
  });

  it("of a Lease that a Go candidate has taken is a loss, although our annotations still stand there", async () => {
    const [store, name] = [stage.store(), aName()];
    const session = await open(store);
    const hold = await win(store, session, name);
    await stage.edit(name, (lease) => ({
      ...lease,
      spec: { ...lease.spec, holderIdentity: "go_1", leaseTransitions: 1 },
    }));
    expect(await store.keep(session, [hold], call())).toMatchObject({ kind: "kept", lost: [hold] });
    expect((await seatOf(store, name)).holder).toEqual({ candidate: "go_1" });
  });

  it("goes on although somebody has labelled the Lease, and keeps the label", async () => {
    const [store, name] = [stage.store(), aName()];
    const session = await open(store);
    const hold = await win(store, session, name);
    await stage.edit(name, (lease) => ({
      ...lease,
      metadata: { ...lease.metadata, labels: { ...lease.metadata.labels, team: "a" } },
    }));
    expect(await store.keep(session, [hold], call())).toMatchObject({ kind: "kept", lost: [], unsure: [] });
    expect((await stage.lease(name)).metadata.labels).toMatchObject({ team: "a" });
    expect((await seatOf(store, name)).holder?.token).toBe(hold.token?.value);
  });

  it("that gets no answer is unsure, and the others of the same keep are not", async () => {
    const [store, a, b] = [stage.store(), aName(), aName()];
    const session = await open(store);
    const holds = [await win(store, session, a), await win(store, session, b)];
    await stage.faults({ method: "PUT", path: a, lose: "after" });
    const kept = await store.keep(session, holds, call());
    expect(kept).toMatchObject({ kind: "kept", lost: [], unsure: [holds[0]] });
    expect(await store.keep(session, holds, call())).toMatchObject({ kind: "kept", lost: [], unsure: [] });
  });

  it("that gets no answer at all is unknown, and 5xx is no answer", async () => {
    const [store, name] = [stage.store(), aName()];
    const session = await open(store);
    const hold = await win(store, session, name);
    for (const fault of [
      { lose: "before" },
      { lose: "after" },
      { status: 500 },
      { status: 503 },
      { status: 504 },
    ] as const) {
      await stage.faults({ method: "PUT", ...fault });
      expect(await store.keep(session, [hold], call())).toMatchObject({ kind: "unknown" });
    }
    expect(await store.keep(session, [hold], call())).toMatchObject({ kind: "kept", lost: [], unsure: [] });
  });

  it("has a later second in renewTime than the one before, however quickly they follow each other", async () => {
    const [store, name] = [stage.store(), aName()];
    const session = await open(store);
    const hold = await win(store, session, name);
    const seconds = [secondOf((await stage.lease(name)).spec["renewTime"])];
    for (let keep = 0; keep < 4; keep++) {
      await store.keep(session, [hold], call());
      seconds.push(secondOf((await stage.lease(name)).spec["renewTime"]));
    }
    expect(new Set(seconds).size).toBe(5);
    expect(seconds).toEqual(seconds.toSorted());
  });

  it("that was on its way when the Lease was given back is refused", async () => {
    const [store, keeper, name] = [stage.store(), stage.store(), aName()];
    const session = await open(store);
    const hold = await win(store, session, name);
    const before = await stage.lease(name);
    await keeper.release({ session, holds: [hold], endSession: true }, call());
    expect(
      (await stage.ask("PUT", name, { ...before, spec: { ...before.spec, renewTime: "2026-01-01T00:00:00.000000Z" } }))
        .status,
    ).toBe(409);
    expect((await seatOf(store, name)).state).toBe("vacant");
  });
});

function secondOf(time: unknown): string {
  return String(time).slice(0, 19);
}

describe("a claim", () => {
  it("whose answer was lost is granted when it is sent again, with the token of its first write", async () => {
    const [store, name, bid] = [stage.store(), aName(), aBid()];
    const session = await open(store);
    const { version } = await seatOf(store, name);
    await stage.faults({ method: "POST", lose: "after" });
    expect(await claimOver(store, session, name, version, bid)).toMatchObject({ kind: "unknown" });
    const { metadata } = await stage.lease(name);
    const again = await claimOver(store, session, name, version, bid);
    expect(again).toMatchObject({ kind: "granted", hold: { bid, token: { value: BigInt(metadata.resourceVersion) } } });
  });

  it("is unknown without an answer, also where more are sent at once than there are connections", async () => {
    const store = stage.store();
    const session = await open(store);
    const claims = Array.from({ length: 40 }, () => ({ session, name: aName(), bid: aBid(), over: VACANT, value: "" }));
    await seatOf(store, claims[0]?.name ?? "");
    await stage.faults({ method: "POST", lose: "after", times: 40 });
    const claimed = await store.claim(claims, call());
    expect(new Set(claimed.map(({ kind }) => kind))).toEqual(new Set(["unknown"]));
    const again = await store.claim(claims, call());
    expect(new Set(again.map(({ kind }) => kind))).toEqual(new Set(["granted"]));
  });

  it("is beaten by what the server says, not by what was seen of the Lease before", async () => {
    const [store, rival, name] = [stage.store(), stage.store(), aName()];
    const session = await open(store);
    const hold = await win(store, session, name);
    expect((await seatOf(rival, name)).state).toBe("held");
    await store.release({ session, holds: [hold], endSession: false }, call());
    expect(await claimOver(rival, await open(rival), name, VACANT)).toMatchObject({ kind: "granted" });
  });

  it("over a version that the holder has renewed since is beaten", async () => {
    const [store, rival, name] = [stage.store(), stage.store(), aName()];
    const session = await open(store);
    const hold = await win(store, session, name);
    const { version } = await seatOf(rival, name);
    await store.keep(session, [hold], call());
    expect(await claimOver(rival, await open(rival), name, version)).toMatchObject({ kind: "beaten" });
    expect((await seatOf(rival, name)).holder?.bid).toBe(hold.bid);
  });

  it("over exactly the version that was watched takes the Lease, whatever its renewTime says", async () => {
    const [store, rival, name] = [stage.store(), stage.store(), aName()];
    await win(store, await open(store), name);
    await stage.edit(name, (lease) => ({
      ...lease,
      spec: { ...lease.spec, renewTime: "2099-01-01T00:00:00.000000Z" },
    }));
    const claimed = await claimOver(rival, await open(rival), name);
    expect(claimed).toMatchObject({ kind: "granted" });
  });

  it("over VACANT takes no held Lease, whatever its renewTime says", async () => {
    const [store, rival, name] = [stage.store(), stage.store(), aName()];
    await win(store, await open(store), name);
    await stage.edit(name, (lease) => ({
      ...lease,
      spec: { ...lease.spec, renewTime: "2001-01-01T00:00:00.000000Z" },
    }));
    expect(await claimOver(rival, await open(rival), name, VACANT)).toMatchObject({
      kind: "beaten",
      seat: { state: "held" },
    });
  });

  it("is not made anew over a Lease that was held when it was last seen and is gone: missing, for its ttl", async () => {
    const [store, rival, newcomer, name] = [stage.store(), stage.store(), stage.store(), aName()];
    const session = await open(store, 7_000);
    await win(store, session, name);
    await seatOf(rival, name);
    await stage.delete(name);
    expect(await seatOf(rival, name)).toMatchObject({ state: "missing", ttlMs: 7_000 });
    expect(await claimOver(rival, await open(rival), name, VACANT)).toMatchObject({
      kind: "beaten",
      seat: { state: "missing" },
    });
    expect(await seatOf(newcomer, name)).toMatchObject({ state: "vacant" });
    // The silence over, it claims over exactly what it has watched.
    expect(await claimOver(rival, await open(rival), name)).toMatchObject({ kind: "granted" });
  });

  it("finds a Lease that was replaced by an empty one missing, too", async () => {
    const [store, rival, name] = [stage.store(), stage.store(), aName()];
    await win(store, await open(store, 7_000), name);
    await seatOf(rival, name);
    await stage.delete(name);
    await stage.ask("POST", "", { metadata: { name }, spec: {} });
    expect(await seatOf(rival, name)).toMatchObject({ state: "missing", ttlMs: 7_000 });
    expect(await claimOver(rival, await open(rival), name, VACANT)).toMatchObject({ kind: "beaten" });
  });

  it("is refused with a ttl longer than that of a foreign holder, which may wait its own", async () => {
    const [store, name] = [stage.store(), aName()];
    await stage.ask("POST", "", goLease(name, "go_1", 15));
    const long = await claimOver(store, await open(store, 30_000), name);
    expect(long).toMatchObject({ kind: "refused", code: "STORE_UNSUPPORTED" });
    expect(long).toHaveProperty("message", expect.stringContaining("set ttlMs to 15000 or less"));
    expect((await stage.lease(name)).spec["holderIdentity"]).toBe("go_1");
    expect(await claimOver(store, await open(store, 15_000), name)).toMatchObject({ kind: "granted" });
  });
});

function goLease(name: string, holder: string, seconds: number): object {
  const at = "2026-11-16T10:00:00.123456Z";
  return {
    kind: "Lease",
    apiVersion: "coordination.k8s.io/v1",
    metadata: { name, creationTimestamp: null },
    spec: {
      holderIdentity: holder,
      leaseDurationSeconds: seconds,
      acquireTime: at,
      renewTime: at,
      leaseTransitions: 0,
    },
  };
}

describe("a Lease that is no election of ours", () => {
  it("is refused, and left alone: led by Kubernetes itself, without a duration, or of another name", async () => {
    const store = stage.store();
    const session = await open(store);
    const [coordinated, endless, copied] = [aName(), aName(), aName()];
    await stage.ask("POST", "", { metadata: { name: coordinated }, spec: { strategy: "OldestEmulationVersion" } });
    await stage.ask("POST", "", { metadata: { name: endless }, spec: { holderIdentity: "somebody" } });
    await stage.ask("POST", "", { metadata: { name: copied, annotations: { "conclave/name": "Another" } }, spec: {} });
    // A real server keeps a strategy only where it has that election turned on.
    const isKept = !isReal || (await stage.lease(coordinated)).spec["strategy"] !== undefined;
    for (const name of [...(isKept ? [coordinated] : []), endless, copied]) {
      const { metadata } = await stage.lease(name);
      const [claimed] = await store.claim([{ session, name, bid: aBid(), over: VACANT, value: "" }], call());
      expect(claimed).toMatchObject({ kind: "refused", code: "STORE_FOREIGN_DATA", retryable: false });
      expect(claimed).toHaveProperty("message", expect.stringContaining("Nothing was written."));
      expect((await stage.lease(name)).metadata.resourceVersion).toBe(metadata.resourceVersion);
    }
  });

  it("is refused and left alone, too, if the watch has told it and no request has", async () => {
    const store = stage.store();
    const session = await open(store);
    const [endless, copied] = [aName(), aName()];
    const over = new AbortController();
    const hints = store.watch([{ name: endless }, { name: copied }], call(over.signal))[Symbol.asyncIterator]();
    const seen = new Set<string>();
    const hear = async (): Promise<void> => {
      const { value } = await hints.next();
      if (value?.seat !== undefined && value.seat.version !== "absent") seen.add(value.name);
    };
    await hints.next();
    await stage.ask("POST", "", { metadata: { name: endless }, spec: { holderIdentity: "somebody" } });
    await stage.ask("POST", "", { metadata: { name: copied, annotations: { "conclave/name": "Another" } }, spec: {} });
    while (seen.size < 2) await hear();
    for (const name of [endless, copied]) {
      const { metadata } = await stage.lease(name);
      expect(await store.look([{ name }], call())).toMatchObject({ kind: "refused", code: "STORE_FOREIGN_DATA" });
      const [claimed] = await store.claim([{ session, name, bid: aBid(), over: VACANT, value: "" }], call());
      expect(claimed).toMatchObject({ kind: "refused", code: "STORE_FOREIGN_DATA" });
      expect((await stage.lease(name)).metadata.resourceVersion).toBe(metadata.resourceVersion);
    }
    over.abort();
  });

  it("is refused if its value is larger than annotations can be", async () => {
    const [store, name] = [stage.store(), aName()];
    const session = await open(store);
    const [claimed] = await store.claim(
      [{ session, name, bid: aBid(), over: VACANT, value: "x".repeat(270_000) }],
      call(),
    );
    expect(claimed).toMatchObject({ kind: "refused", code: "STORE_FULL" });
  });
});

describe("the notes of the server on who has written which field", () => {
  const writers = async (name: string): Promise<readonly string[] | undefined> =>
    (await stage.lease(name)).metadata.managedFields?.map(({ manager }) => manager);

  it("are taken away where nobody but us is noted, and none are made from then on", async () => {
    const [store, name] = [stage.store(), aName()];
    const session = await open(store);
    const hold = await win(store, session, name);
    expect(await writers(name)).toEqual(["conclave"]);
    expect(await store.keep(session, [hold], call())).toMatchObject({ kind: "kept", lost: [], unsure: [] });
    expect(await writers(name)).toBeUndefined();
    expect(await store.keep(session, [hold], call())).toMatchObject({ kind: "kept", lost: [], unsure: [] });
    expect(await writers(name)).toBeUndefined();
  });

  it("stay where somebody else is noted", async () => {
    const [store, name] = [stage.store(), aName()];
    await stage.ask("POST", "", { metadata: { name, labels: { team: "a" } }, spec: {} });
    const [other] = (await writers(name)) ?? [];
    const session = await open(store);
    const hold = await win(store, session, name);
    for (let keep = 0; keep < 2; keep++) await store.keep(session, [hold], call());
    expect(new Set(await writers(name))).toEqual(new Set([other, "conclave"]));
  });
});

describe("a memo", () => {
  it("written before the first renewal of a Lease that was edited by hand waits for that renewal", async () => {
    const [store, name] = [stage.store() as FencedStore & KeepsMemos, aName()];
    const session = await open(store);
    const hold = await win(store, session, name);
    await stage.edit(name, (lease) => ({
      ...lease,
      metadata: { ...lease.metadata, labels: { ...lease.metadata.labels, team: "a" } },
    }));
    const write = { session, hold, key: "k", value: "v", n: 1, over: undefined };
    expect(await store.writeMemo(write, call())).toMatchObject({ kind: "refused", retryable: true });
    await store.keep(session, [hold], call());
    expect(await store.writeMemo(write, call())).toMatchObject({ kind: "written" });
  });
});
