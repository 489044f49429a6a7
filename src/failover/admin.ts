// The requests of operators to a group: its status, and orders. An order is a memo of an election of its own, which this process leads for a moment. The leader of the monitors answers in its record.
import { randomBytes } from "node:crypto";
import type { Candidate } from "../election/face.ts";
import type { UnfencedTerm } from "../election/term.ts";
import { RESERVED, writeReservedMemo } from "../election/memo.ts";
import { nap } from "../election/nap.ts";
import { choose, type Choice, type Views } from "./choice.ts";
import { type FailoverConfig, planOf } from "./config.ts";
import { decideOrder, type Order } from "./orders.ts";
import {
  formatOrder,
  leaderOf,
  monitorOf,
  ORDER_KEY,
  ordersOf,
  parseRecord,
  parseSeated,
  parseVote,
  RECORD_KEY,
  type Seated,
  seatOf,
} from "./record-text.ts";
import type { FailoverRecord } from "./record.ts";
import type { Replication } from "./replication.ts";
import { straysIn } from "./strays.ts";

/** One configured monitor. */
export interface MonitorStatus {
  readonly monitor: string;
  readonly isThere: boolean;
  /** The server that this monitor takes for down. */
  readonly votes: string | undefined;
}

/** The status of a group. */
export interface FailoverStatus {
  readonly name: string;
  readonly record: FailoverRecord | undefined;
  /** The monitor that leads. */
  readonly leader: string | undefined;
  /** The server whose guard holds the seat and says that its server is the primary. */
  readonly seated: Seated | undefined;
  readonly monitors: readonly MonitorStatus[];
  readonly servers: Views;
  /** Servers that take writes although the record names another primary. */
  readonly strays: readonly string[];
}

/** Finds out the status of a group: reads the store, and asks every server. */
export async function statusOf(
  candidate: Candidate<UnfencedTerm>,
  config: FailoverConfig,
  replication: Replication,
): Promise<FailoverStatus> {
  const { name } = config;
  const seatValue = async (election: string): Promise<string | undefined> =>
    (await candidate.election(election).leader())?.value;
  const monitors = config.monitors.map(async (monitor): Promise<MonitorStatus> => {
    const holder = await candidate.election(monitorOf(name, monitor)).leader();
    return { monitor, isThere: holder !== undefined, votes: parseVote(monitor, holder?.value)?.primary };
  });
  const record = await readRecord(candidate, name);
  const [leader, seated, all, servers] = await Promise.all([
    candidate.election(leaderOf(name)).leader(),
    seatValue(seatOf(name)),
    Promise.all(monitors),
    viewsOf(replication),
  ]);
  // A server that was replaced while this was read is no stray: the record must be of one change before and after the servers were asked.
  const after = straysIn(record, servers).length > 0 ? await readRecord(candidate, name) : undefined;
  const strays = after !== undefined && after.epoch === record?.epoch ? straysIn(after, servers) : [];
  return { name, record, leader: leader?.id, seated: parseSeated(seated), monitors: all, servers, strays };
}

export async function readRecord(
  candidate: Candidate<UnfencedTerm>,
  name: string,
): Promise<FailoverRecord | undefined> {
  const memo = await candidate.election(leaderOf(name)).memo(RESERVED + RECORD_KEY);
  return memo === undefined ? undefined : parseRecord(memo.value);
}

async function viewsOf(replication: Replication): Promise<Views> {
  const looks = Object.values(replication.servers).map(async (server) => {
    const link = await replication.connect(server).catch(() => undefined);
    const view = (await link?.view()) ?? ({ is: "unknown" } as const);
    link?.close();
    return [server.name, view] as const;
  });
  return Object.fromEntries(await Promise.all(looks));
}

/** An order to hand over, as far as a dry run needs it. */
export type WantedSwitchover = Pick<Extract<Order, { kind: "switchover" }>, "to" | "isForced">;

/**
 * Says what the leader would do with this order now: the very function decides it. Without an order for a certain server, and while the primary does not answer, it says which server would be chosen. It changes nothing.
 */
export function switchoverNow(config: FailoverConfig, status: FailoverStatus, wanted: WantedSwitchover): Choice {
  const { record, servers } = status;
  if (record?.primary === undefined) return choiceNow(config, status);
  const { step } = record;
  const isHeeded = step.at === "choosing" && wanted.isForced && wanted.to !== undefined;
  if (isHeeded) return chosen(servers, wanted.to, "an operator has said so");
  if (step.at !== "steady")
    return {
      is: "wait",
      reason: `a change of the primary is under way (${step.at}): the order is dealt with after it`,
    };
  const view = servers[record.primary];
  const isAnswering = view?.is === "up" && view.role === "primary";
  if (!isAnswering && wanted.to === undefined && !wanted.isForced) return choiceNow(config, status);
  const isDeviceAlone = !config.hasGuards && config.stonith !== undefined;
  const rule = { ...planOf(config, { hasGuards: config.hasGuards, shots: undefined, isDryRun: true }), isDeviceAlone };
  const decided = decideOrder(rule, record, { id: "dry-run", kind: "switchover", ...wanted }, servers);
  const { said = "", isDone = false } = decided.order ?? {};
  const to = decided.step.at === "handing-over" ? decided.step.to : wishOf(decided);
  return isDone && to !== undefined ? chosen(servers, to, said) : { is: "refused", reason: said };
}

function chosen(views: Views, server: string, reason: string): Choice {
  const view = views[server];
  return { is: "chosen", server, position: view?.is === "up" ? view.position : 0, reason };
}

function wishOf({ step }: FailoverRecord): string | undefined {
  return step.at === "fencing" ? step.wish?.server : undefined;
}

/** Says which server the leader would choose if the primary were fenced now. It changes nothing. */
export function choiceNow(config: FailoverConfig, { record, servers }: FailoverStatus): Choice {
  if (record === undefined) return { is: "wait", reason: "no monitor has ever led this group" };
  const plan = planOf(config, { hasGuards: true, shots: undefined, isDryRun: true });
  const others = Object.fromEntries(Object.entries(servers).filter(([server]) => server !== record.primary));
  return choose(plan, record, others, true);
}

/** Applies `Omit` to each kind of order separately. */
type Unsigned<O> = O extends unknown ? Omit<O, "id"> : never;

/** Resolves with the answer of the leader, or with undefined if no answer came before `signal` aborted. */
export async function giveOrder(
  candidate: Candidate<UnfencedTerm>,
  name: string,
  wanted: Unsigned<Order>,
  signal: AbortSignal,
): Promise<NonNullable<FailoverRecord["order"]> | undefined> {
  const order = { ...wanted, id: randomBytes(8).toString("hex") } as Order;
  const term = await candidate.election(ordersOf(name)).campaign({ signal });
  try {
    await writeReservedMemo(term, ORDER_KEY, formatOrder(order));
  } finally {
    await term.resign();
  }
  return await answerTo(candidate, name, order, signal);
}

/** The answer to a switchover comes when the switchover is over, whether it succeeded or not. */
async function answerTo(
  candidate: Candidate<UnfencedTerm>,
  name: string,
  order: Order,
  signal: AbortSignal,
): Promise<NonNullable<FailoverRecord["order"]> | undefined> {
  let answer: FailoverRecord["order"];
  while (!signal.aborted) {
    const record = await readRecord(candidate, name).catch(() => undefined);
    if (record?.order?.id === order.id) answer = record.order;
    if (answer !== undefined && order.kind === "confirm") return answer;
    if (answer !== undefined && (record?.step.at === "steady" || record?.step.at === "repointing")) {
      if (order.kind !== "switchover" || !answer.isDone) return answer;
      return { ...answer, said: `${record.primary ?? "nobody"} is the primary` };
    }
    await nap(100, signal);
  }
  return answer;
}
