// One election of Go's candidates and ours, in both directions. Promised is what the foreign candidate's own rules promise, and no more.
import { afterEach, describe, expect, it } from "vitest";
import { elect } from "conclave";
import { VACANT } from "conclave/stores/contract";
import * as server from "../../../scripts/servers/kubernetes.mjs";
import { useServers } from "../../support/servers.ts";
import { open } from "../moves.ts";
import { GoCandidate } from "./go-candidate.ts";
import { aName, call, claimOver, type Ran, seatOf, Stage, win } from "./stage.ts";

const servers = useServers(server) as () => Ran;
const stage = new Stage(servers);
afterEach(() => stage.end());

const MICRO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

describe("a Lease as we write it", () => {
  it("has the fields of client-go's, in its order and forms, through grant, renewal and release", async () => {
    const [store, name] = [stage.store(), aName()];
    const session = await open(store, 15_000);
    const hold = await win(store, session, name);
    const granted = (await stage.lease(name)).spec;
    expect(Object.keys(granted)).toEqual([
      "holderIdentity",
      "leaseDurationSeconds",
      "acquireTime",
      "renewTime",
      "leaseTransitions",
    ]);
    expect(granted).toMatchObject({
      holderIdentity: `${session.candidate}_${hold.bid}`,
      leaseDurationSeconds: 15,
      leaseTransitions: 0,
    });
    expect(granted["acquireTime"]).toMatch(MICRO_TIME);
    expect(granted["renewTime"]).toBe(granted["acquireTime"]);
    await store.keep(session, [hold], call());
    const renewed = (await stage.lease(name)).spec;
    expect(renewed).toEqual({ ...granted, renewTime: renewed["renewTime"] });
    expect(renewed["renewTime"]).toMatch(MICRO_TIME);
    await store.release({ session, holds: [hold], endSession: false }, call());
    const released = (await stage.lease(name)).spec;
    expect(released).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1, leaseTransitions: 0 });
    expect(released["renewTime"]).toBe(released["acquireTime"]);
    await win(store, session, name);
    expect((await stage.lease(name)).spec["leaseTransitions"]).toBe(1);
  });
});

describe("ours leads", () => {
  it("and Go waits for the recorded duration from the last renewal, even if renewals come within one second", async () => {
    const [store, name] = [stage.store(), aName()];
    const go = new GoCandidate(stage, name, "go_1", 2);
    const session = await open(store, 2_000);
    const hold = await win(store, session, name);
    expect(await go.round(0)).toBe(false);
    // Three renewals within moments of the wall clock, and for Go's clock nearly the whole duration later.
    await store.keep(session, [hold], call());
    expect(await go.round(1_900)).toBe(false);
    await store.keep(session, [hold], call());
    expect(await go.round(3_800)).toBe(false);
    expect(await go.round(5_700)).toBe(false);
    expect(await go.round(5_900)).toBe(true);
    expect(await store.keep(session, [hold], call())).toMatchObject({ kind: "kept", lost: [hold] });
  });

  it("and gives back: Go leads at once, and the transitions are counted on", async () => {
    const [store, name] = [stage.store(), aName()];
    const go = new GoCandidate(stage, name, "go_1", 15);
    const session = await open(store, 15_000);
    const hold = await win(store, session, name);
    expect(await go.round(0)).toBe(false);
    await store.release({ session, holds: [hold], endSession: true }, call());
    expect(await go.round(1)).toBe(true);
    expect((await stage.lease(name)).spec).toMatchObject({ holderIdentity: "go_1", leaseTransitions: 1 });
  });
});

describe("Go leads", () => {
  it("and ours waits, sees each of its renewals, and takes nothing that is vacant or not", async () => {
    const [store, name] = [stage.store(), aName()];
    const go = new GoCandidate(stage, name, "go_1", 15);
    expect(await go.round(0)).toBe(true);
    const session = await open(store, 15_000);
    const first = await seatOf(store, name);
    expect(first).toMatchObject({ state: "held", holder: { candidate: "go_1" }, ttlMs: 15_000 });
    expect(await claimOver(store, session, name, VACANT)).toMatchObject({ kind: "beaten" });
    expect(await go.round(2_000)).toBe(true);
    expect((await seatOf(store, name)).version).not.toBe(first.version);
    expect(await claimOver(store, session, name, first.version)).toMatchObject({ kind: "beaten" });
  });

  it("and gives back: ours leads at once, with a token", async () => {
    const [store, name] = [stage.store(), aName()];
    const go = new GoCandidate(stage, name, "go_1", 15);
    await go.round(0);
    await go.release();
    const session = await open(store, 15_000);
    expect(await claimOver(store, session, name, VACANT)).toMatchObject({ kind: "granted", hold: { token: {} } });
    expect(await go.round(1)).toBe(false);
  });

  it("and falls silent: ours leads after its recorded duration, and not before", async () => {
    const name = aName();
    await new GoCandidate(stage, name, "go_1", 2).round(0);
    const store = stage.store();
    const from = performance.now();
    const election = elect(name, { store, ttlMs: 2_000, id: "ours" });
    const waited = await election.lead(async () => performance.now() - from);
    expect(waited).toBeGreaterThan(2_000);
    expect(waited).toBeLessThan(5_000);
  }, 20_000);
});
