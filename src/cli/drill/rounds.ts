// The faults of a drill, one round each: something happens to the leader, and another must lead. A failover lasts from the fault to the first write of the
// successor that the resource accepts.
//
//   crash    SIGKILL; another process takes its place
//   pause    SIGSTOP in the middle of a write, past the ttl; then SIGCONT: the write arrives late, and must be refused
//   resign   the leader is told to give up, and does
//   cut      its packets to and from the store vanish; it can still reach the resource. Mended when another leads
import type { Company } from "./company.ts";
import { nowMs } from "./messages.ts";
import type { DrillPlayer } from "./player.ts";

export const FAULTS = ["crash", "pause", "resign", "cut"] as const;
export type DrillFault = (typeof FAULTS)[number];

export interface DrillPace {
  readonly ttlMs: number;
  /** More than anything here should take. */
  readonly patienceMs: number;
  readonly signal: AbortSignal;
}

/** Returns how long the failover took. */
export async function play(fault: DrillFault, company: Company, pace: DrillPace): Promise<number> {
  const leader = await company.until(
    () => settledLeader(company),
    "a leader, and others that wait",
    pace.patienceMs,
    pace.signal,
  );
  const before = company.resource.newest;
  switch (fault) {
    case "crash":
      return await crash(company, leader, before, pace);
    case "pause":
      return await pause(company, leader, before, pace);
    case "resign":
      return await resign(company, leader, before, pace);
    case "cut":
      return await cut(company, leader, before, pace);
  }
}

/** A candidate that leads, whose writes are the newest, and whom the others have seen. */
function settledLeader(company: Company): DrillPlayer | undefined {
  const { leader, players, resource } = company;
  const books = resource.books.find(({ id }) => id === leader?.id);
  const isSettled = books !== undefined && books.accepted > 0 && books.lastToken === resource.newest;
  return isSettled && players.every((player) => player === leader || player.isWaiting) ? leader : undefined;
}

async function crash(company: Company, leader: DrillPlayer, before: bigint, pace: DrillPace): Promise<number> {
  company.expectEndOf(leader);
  const from = nowMs();
  leader.signal("SIGKILL");
  const ms = (await succession(company, before, pace)) - from;
  await leader.gone;
  company.replace(company.placeOf(leader));
  return ms;
}

async function pause(company: Company, leader: DrillPlayer, before: bigint, pace: DrillPace): Promise<number> {
  leader.tell("compose");
  await company.until(() => heard(company, leader, "composing"), "a write under way", pace.patienceMs, pace.signal);
  const from = nowMs();
  leader.signal("SIGSTOP");
  try {
    const ms = (await succession(company, before, pace)) - from;
    const late = company.resource.staleRefused + company.resource.staleAccepted;
    leader.signal("SIGCONT");
    const hasArrived = (): true | undefined =>
      company.resource.staleRefused + company.resource.staleAccepted > late ? true : undefined;
    await company.until(hasArrived, "the late write", pace.patienceMs, pace.signal);
    await company.until(() => heard(company, leader, "lost"), "the old leader's notice", pace.patienceMs, pace.signal);
    return ms;
  } finally {
    leader.signal("SIGCONT");
  }
}

async function resign(company: Company, leader: DrillPlayer, before: bigint, pace: DrillPace): Promise<number> {
  leader.isWaiting = false;
  leader.tell("resign");
  const said = await company.until(
    () => heard(company, leader, "resigning"),
    "a resignation",
    pace.patienceMs,
    pace.signal,
  );
  const ms = (await succession(company, before, pace)) - said.at;
  leader.tell("stand");
  return ms;
}

async function cut(company: Company, leader: DrillPlayer, before: bigint, pace: DrillPace): Promise<number> {
  const from = nowMs();
  leader.cable?.cut();
  try {
    return (await succession(company, before, pace)) - from;
  } finally {
    leader.cable?.mend();
    await company.until(() => heard(company, leader, "lost"), "the old leader's notice", pace.patienceMs, pace.signal);
  }
}

/** When the first write with a newer token was accepted. */
function succession(company: Company, before: bigint, { patienceMs, signal }: DrillPace): Promise<number> {
  let at: number | undefined;
  const stop = company.resource.onWrite((_id, token, _isComposed, isAccepted) => {
    if (isAccepted && token > before) at ??= nowMs();
  });
  return company.until(() => at, "another leader", patienceMs, signal).finally(stop);
}

/** The latest message of this kind about its present or last term. */
function heard(company: Company, player: DrillPlayer, event: string): { readonly at: number } | undefined {
  const mine = company.heard.filter((each) => each.player === player);
  const elected = mine.findLastIndex(({ said }) => said.event === "elected");
  return mine.slice(elected).find(({ said }) => said.event === event)?.said;
}
