// The shots at machines, as the record of a failover keeps them, and the rules that forbid one. Pure.
//
// A shot is written to the record before it is fired, so that the next leader counts it too. It counts as a machine that is off until its server answers again: the machine may have been hit, whatever was reported.
// The limits are those of STONITH (src/stonith/limits.ts): never the machine of this monitor, at most `maxOff` machines off at one time, at most `shotsMax` within `windowMs`, and the store keeps its quorum.
import { problemsOfShot, recentOf } from "../stonith/limits.ts";
import { NO_RECORD, SAID_MAX, type StonithRecord } from "../stonith/record.ts";
import type { Views } from "./choice.ts";
import type { FailoverRecord, Shot } from "./record.ts";
import type { FailoverPlan, FailoverMoment, ShotRules } from "./state.ts";

/** The shot at the machine that is being fenced now. Undefined if none was decided yet. */
export function openShot({ step, epoch, shots = [] }: FailoverRecord): Shot | undefined {
  return step.at === "fencing" ? shots.find((shot) => shot.server === step.from && shot.epoch === epoch) : undefined;
}

/** SAFETY: this is asked with a record that was read right before an agent is started. A leader that was replaced shoots nobody, and neither does one whose fence is over. */
export function mayShoot(record: FailoverRecord | undefined, server: string, epoch: number): boolean {
  const shot = record && openShot(record);
  return shot !== undefined && shot.server === server && shot.epoch === epoch;
}

/** Why this leader must not shoot at the machine of `server`; empty if it may. */
export function problemsOf(
  rules: ShotRules,
  record: FailoverRecord,
  server: string,
  now: FailoverMoment,
): readonly string[] {
  const { step } = record;
  const isOrdered = step.at === "fencing" && step.why === "order";
  const circumstances = { now: { ...now, random: 0 }, isOrdered };
  return problemsOfShot(rules.limits, asStonith(rules, record), rules.nodes[server] ?? server, circumstances);
}

/** SAFETY: a monitor that powers its own machine off ends itself before it has verified anything. */
export function isOwn({ nodes, limits }: ShotRules, server: string): boolean {
  return nodes[server] === limits.node;
}

function asStonith({ nodes }: ShotRules, { shots = [] }: FailoverRecord): StonithRecord {
  const off = shots
    .filter(({ isBack }) => !isBack)
    .map(({ server, epoch }) => ({ node: nodes[server] ?? server, since: `${epoch}` }));
  return { ...NO_RECORD, off, recentMs: shots.map(({ wallMs }) => wallMs) };
}

/** Adds a shot at `server`, which may be fired when this record is stored. Shots that are over and count for no limit any more are dropped. */
export function withShot(
  { limits }: ShotRules,
  record: FailoverRecord,
  server: string,
  { wallMs, nowMs }: FailoverMoment,
): FailoverRecord {
  const moment = { wallMs, nowMs, random: 0 };
  const isRecent = (shot: Shot): boolean =>
    recentOf(limits, { ...NO_RECORD, recentMs: [shot.wallMs] }, moment).length > 0;
  const kept = (record.shots ?? []).filter((shot) => shot.server !== server || isRecent(shot));
  const shots = kept
    .filter((shot) => !shot.isBack || isRecent(shot))
    .map((shot) => (shot.server === server ? { ...shot, isBack: true } : shot));
  const shot: Shot = { server, epoch: record.epoch, wallMs, vain: 0, last: undefined, isBack: false };
  return { ...record, shots: [...shots, shot] };
}

/** Adds the outcome of the open shot, for the next leader and for people. */
export function withOutcome(
  record: FailoverRecord,
  heard: { readonly outcome: "verified" | "failed" | "unknown"; readonly said: string } | undefined,
): FailoverRecord {
  const open = openShot(record);
  if (open === undefined || heard === undefined) return record;
  const last = { outcome: heard.outcome, said: heard.said.slice(0, SAID_MAX) };
  const noted: Shot = { ...open, last, vain: open.vain + (heard.outcome === "verified" ? 0 : 1) };
  return { ...record, shots: (record.shots ?? []).map((shot) => (shot === open ? noted : shot)) };
}

/** Marks the servers that were shot at and answer again. The server that is being fenced is not marked, because it may answer until it is off. */
export function withBack(record: FailoverRecord, views: Views): FailoverRecord {
  const { step, shots = [] } = record;
  const from = step.at === "fencing" ? step.from : undefined;
  const isBack = ({ server, isBack: wasBack }: Shot): boolean =>
    !wasBack && server !== from && views[server]?.is === "up";
  if (!shots.some(isBack)) return record;
  return { ...record, shots: shots.map((shot) => (isBack(shot) ? { ...shot, isBack: true } : shot)) };
}

/** True if there are devices but no guards: only a device can end an old primary. */
export function isDeviceAlone({ hasGuards, shots }: FailoverPlan): boolean {
  return !hasGuards && shots !== undefined;
}
