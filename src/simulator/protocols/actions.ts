// Actions on a world: by a schedule, by a scenario file, or by somebody in front of a screen. They are plain data with one text form each:
//
//   crash 3 · restart 3 · pause 3 · resume 3
//   crash leader · pause candidate · restart all                                 the member that has that role then; `all` that are down, or paused
//   partition majority · partition 1,2/3,4,5 · cut 1>2 · mend 1>2 · heal          heal mends every cut, and releases every hold;
//   heal majority                                                                mends the oldest `partition majority`, and nothing else
//   hold 1>2 · release 1>2
//   latency 5ms-15ms · loss 10% · duplicate 5%
//   tell 1 suspect 5 · expire 1 election                                         expire: that timer of that member is due now, if it runs
import type { NodeId } from "../../protocols/node.ts";
import { formatLatency, type Latency, parseLatency } from "../kernel/latency.ts";

/** An action on a world of a protocol: a fault, or a command to a member. */
export type Action =
  | { readonly type: "crash" | "restart" | "pause" | "resume"; readonly node: NodeId }
  | { readonly type: "crash-role" | "pause-role"; readonly role: "leader" | "candidate" }
  | { readonly type: "restart-all" | "resume-all" }
  | { readonly type: "partition"; readonly how: string }
  | { readonly type: "cut" | "mend" | "hold" | "release"; readonly from: NodeId; readonly to: NodeId }
  | { readonly type: "heal"; readonly how?: string }
  | { readonly type: "latency"; readonly latency: Latency }
  | { readonly type: "loss" | "duplicate"; readonly chance: number }
  | { readonly type: "tell"; readonly node: NodeId; readonly command: string; readonly argument: number }
  | { readonly type: "expire"; readonly node: NodeId; readonly timer: string; readonly subject: number };

/** An action and its time. */
export interface Scheduled {
  readonly atMs: number;
  readonly action: Action;
}

/** An action as scenario files write it. */
export function formatAction(action: Action): string {
  switch (action.type) {
    case "crash":
    case "restart":
    case "pause":
    case "resume":
      return `${action.type} ${action.node}`;
    case "crash-role":
    case "pause-role":
      return `${action.type === "crash-role" ? "crash" : "pause"} ${action.role}`;
    case "restart-all":
    case "resume-all":
      return action.type === "restart-all" ? "restart all" : "resume all";
    case "partition":
      return `partition ${action.how}`;
    case "cut":
    case "mend":
    case "hold":
    case "release":
      return `${action.type} ${action.from}>${action.to}`;
    case "heal":
      return action.how === undefined ? "heal" : `heal ${action.how}`;
    case "latency":
      return `latency ${formatLatency(action.latency)}`;
    case "loss":
    case "duplicate":
      return `${action.type} ${Number((action.chance * 100).toFixed(3))}%`;
    case "tell":
      return `tell ${action.node} ${action.command}${action.argument === 0 ? "" : ` ${action.argument}`}`;
    case "expire":
      return `expire ${action.node} ${action.timer}${action.subject === 0 ? "" : ` ${action.subject}`}`;
  }
}

/** Undefined: the first word is no action. Throws a RangeError for a text that begins like an action and goes wrong. */
export function parseAction(text: string): Action | undefined {
  const [type = "", first = "", second = "", third = "0"] = text.trim().split(/\s+/);
  switch (type) {
    case "crash":
    case "restart":
    case "pause":
    case "resume":
      return parseFate(type, first, text);
    case "partition":
      return { type, how: first };
    case "cut":
    case "mend":
    case "hold":
    case "release": {
      const [from = "", to = ""] = first.split(">");
      return { type, from: parseId(from, text), to: parseId(to, text) };
    }
    case "heal":
      return first === "" ? { type } : { type, how: first };
    case "latency":
      return { type, latency: parseLatency(first) };
    case "loss":
    case "duplicate":
      return { type, chance: parsePercent(first, text) };
    case "tell":
      return { type, node: parseId(first, text), command: second, argument: Number(third) };
    case "expire":
      return { type, node: parseId(first, text), timer: second, subject: Number(third) };
    default:
      return undefined;
  }
}

function parseFate(type: "crash" | "restart" | "pause" | "resume", whom: string, whole: string): Action {
  const isRole = whom === "leader" || whom === "candidate";
  if (type === "crash" && isRole) return { type: "crash-role", role: whom };
  if (type === "pause" && isRole) return { type: "pause-role", role: whom };
  if (type === "restart" && whom === "all") return { type: "restart-all" };
  if (type === "resume" && whom === "all") return { type: "resume-all" };
  return { type, node: parseId(whom, whole) };
}

function parseId(text: string, whole: string): NodeId {
  if (!/^\d+$/.test(text)) throw new RangeError(`${whole}: ${JSON.stringify(text)} is no member's number`);
  return Number(text);
}

function parsePercent(text: string, whole: string): number {
  const match = /^(\d+(?:\.\d+)?)%$/.exec(text);
  const share = Number(match?.[1]) / 100;
  if (!(share <= 1)) throw new RangeError(`${whole}: write a share as 10%`);
  return share;
}
