// Extras of some worlds: properties of stores that are yet to come, and occasional acts of users. They are drawn from a stream of their own, so that a world without them is as it was before they
// existed. Each is drawn by itself, so that they are met alone and together.
//
//   proof      an answer that comes too late proves nothing, and may not even have renewed anything (ZooKeeper)
//   kernel     there is one host and one clock: rivals see until when a seat is held, and that its holder is dead (SQLite)
//   unfenced   terms have no tokens
//   moves      a failover that forgets brings the store back as another one
//   quiet      a seat whose holder has expired belongs to nobody for a while, and nobody can get it (Consul's lock-delay)
//   denials    requests are refused for good, also before the first one has succeeded
//   closes     candidates are closed in the midst of everything
//   asks       leaders are asked to hand over, some of them too late: the request names an older term
//   tenures    candidates give a term up when they have led for a while
//   invites    candidates are invited to lead next, some of them too late; some have a priority, and invite themselves
//   memos      leaders leave memos, several at once
//   bans       leaders ban the nodes of others, and lift bans
//   replaced   an empty store takes the place of the one that candidates know
import { nextBetween, nextChance, nextInteger, nextOf, type Rng } from "../../base/rng.ts";
import { drawFaults, type LeaseFaultPlan, withMore } from "./faults.ts";
import type { StoreSpec, WorldSpec } from "./spec.ts";
import { streamOf } from "./streams.ts";

type ExtraPlan = Omit<LeaseFaultPlan, "kinds" | "count">;

export function withExtras(world: WorldSpec, plan: ExtraPlan): WorldSpec {
  const rng = streamOf(world.seed, "extras");
  const onKernel = nextChance(rng, 0.5) ? withKernel(world) : world;
  const store = {
    ...drawExtras(onKernel.store, longestTtlMs(world), rng),
    declaresWhenMet: onKernel.store.extraMarginMs > 0 && nextChance(streamOf(world.seed, "met"), 0.5),
  };
  const closing = nextChance(rng, 0.15) ? withCloses(onKernel, plan, rng) : onKernel;
  const asked = withTenures(withBans(withMemos(withReplacements(withRequests({ ...closing, store }, plan), plan))));
  return withInvitations(asked, plan);
}

function drawExtras(store: StoreSpec, ttlMs: number, rng: Rng): StoreSpec {
  const isJudge = store.judge === "store-monotonic" || store.judge === "store-wall";
  const sometimes = (chance: number, value: number, otherwise: number): number =>
    nextChance(rng, chance) ? value : otherwise;
  const proofWithinMs = sometimes(isJudge ? 0.25 : 0, nextBetween(rng, 0.02, 0.15) * ttlMs, Infinity);
  const lockDelayMs = sometimes(isJudge && store.shape === "race" ? 0.2 : 0, nextBetween(rng, 0.1, 1) * ttlMs, 0);
  return {
    ...store,
    proofWithinMs,
    lockDelayMs,
    isFenced: !nextChance(rng, 0.1),
    movesDomain: store.forgetMs > 0 && nextChance(rng, 0.3),
    refuseForGoodChance: sometimes(0.1, nextOf(rng, [0.01, 0.05]), 0),
  };
}

function longestTtlMs({ candidates }: WorldSpec): number {
  return Math.max(...candidates.map(({ ttlMs }) => ttlMs));
}

/** On one host all processes read one clock. A fault that stops it for one would stop it for all, so here it is stopped for none. */
function withKernel(world: WorldSpec): WorldSpec {
  const { store } = world;
  if (store.judge !== "taker" || store.layout !== "session") return world;
  const clock = { ...store.clock, monoQuantumMs: 0, bootQuantumMs: 0 };
  const stopsClocks = new Set(["suspend", "freeze", "store-freeze"]);
  return {
    ...world,
    label: `${world.label} on one kernel`,
    store: { ...store, judge: "kernel", clock },
    candidates: world.candidates.map((candidate) => ({ ...candidate, clock })),
    faults: world.faults.map((fault) => (stopsClocks.has(fault.kind) ? { ...fault, kind: "pause" } : fault)),
  };
}

function withCloses(world: WorldSpec, plan: ExtraPlan, rng: Rng): WorldSpec {
  const closes = drawFaults(rng, { ...plan, kinds: ["close"], count: nextInteger(rng, 1, 3) });
  return { ...world, label: `${world.label} closes`, faults: withMore(world.faults, closes) };
}

function withRequests(world: WorldSpec, plan: ExtraPlan): WorldSpec {
  const rng = streamOf(world.seed, "requests");
  if (!nextChance(rng, 0.15) || !world.store.isFenced) return world;
  const requests = drawFaults(rng, { ...plan, kinds: ["ask"], count: nextInteger(rng, 2, 8) });
  const store = { ...world.store, showsOldRequests: nextChance(rng, 0.5) };
  return { ...world, label: `${world.label} asks`, store, faults: withMore(world.faults, requests) };
}

function withMemos(world: WorldSpec): WorldSpec {
  const rng = streamOf(world.seed, "memos");
  if (!nextChance(rng, 0.3) || !world.store.isFenced) return world;
  const memoChance = nextOf(rng, [0.2, 0.5, 0.8]);
  const candidates = world.candidates.map((each) => ({ ...each, work: { ...each.work, memoChance } }));
  return { ...world, label: `${world.label} memos`, candidates };
}

/** Two processes may run on one node. A leader may try to ban its own node, which is refused. */
function withBans(world: WorldSpec): WorldSpec {
  const rng = streamOf(world.seed, "bans");
  if (!nextChance(rng, 0.15) || !world.store.isFenced) return world;
  const nodes = world.candidates.map((_, slot) => `node-${nextChance(rng, 0.2) ? 0 : slot}`);
  const bans = { chance: nextOf(rng, [0.05, 0.2, 0.4]), nodes: [...new Set(nodes)] };
  const candidates = world.candidates.map((each, slot) => ({
    ...each,
    node: nodes[slot],
    work: { ...each.work, bans },
  }));
  return { ...world, label: `${world.label} bans`, candidates };
}

/** Some candidates have a tenure and some have none; the longest may be that of a world without faults. */
function withTenures(world: WorldSpec): WorldSpec {
  const rng = streamOf(world.seed, "tenures");
  if (!nextChance(rng, 0.15)) return world;
  const candidates = world.candidates.map((each) =>
    nextChance(rng, 0.8) ? { ...each, maxTenureMs: each.ttlMs * nextOf(rng, [1, 1.5, 3]) } : each,
  );
  return { ...world, label: `${world.label} tenures`, candidates };
}

/** Invitations are drawn only where the store can pass them on. */
function withInvitations(world: WorldSpec, plan: ExtraPlan): WorldSpec {
  const { shape, wakes, isFenced } = world.store;
  const rng = streamOf(world.seed, "invitations");
  if (!nextChance(rng, 0.35) || shape !== "race" || wakes !== "watch" || !isFenced) return world;
  const invitations = drawFaults(rng, { ...plan, kinds: ["invite"], count: nextInteger(rng, 2, 8) });
  const candidates = world.candidates.map((each) => ({ ...each, priority: nextOf(rng, [0, 0, 1, 2]) }));
  return { ...world, label: `${world.label} invites`, candidates, faults: withMore(world.faults, invitations) };
}

/** After a replacement exclusion is not judged any more in a race, where versions may come again. So replacements are drawn mostly for lines. */
function withReplacements(world: WorldSpec, plan: ExtraPlan): WorldSpec {
  const rng = streamOf(world.seed, "replacements");
  if (!nextChance(rng, world.store.shape === "line" ? 0.25 : 0.04)) return world;
  const replacements = drawFaults(rng, { ...plan, kinds: ["replace"], count: nextInteger(rng, 1, 2) });
  return { ...world, label: `${world.label} replaced`, faults: withMore(world.faults, replacements) };
}
