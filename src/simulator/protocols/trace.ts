// The events in the world of protocols, as typed values, and each as a line to read.
import type { Proposed } from "../../protocols/log-node.ts";
import type { Message, NodeId, Role } from "../../protocols/node.ts";
import type { Trace } from "../kernel/trace.ts";
import type { Action } from "./actions.ts";
import type { HostEvent } from "./invariants/invariant.ts";
import type { MessageFate } from "./links.ts";

/** An event in a world of a protocol. */
export type ProtocolEvent = { readonly atMs: number } & (
  | { readonly type: "start"; readonly node: NodeId; readonly life: number }
  /** `id` is the same in its send and in each of its deliveries. */
  | {
      readonly type: "send";
      readonly id: number;
      readonly from: NodeId;
      readonly to: NodeId;
      readonly fate: MessageFate;
      readonly message: Message;
    }
  | {
      readonly type: "deliver";
      readonly id: number;
      readonly from: NodeId;
      readonly to: NodeId;
      readonly message: Message;
    }
  /** The message arrived while its receiver was down. */
  | {
      readonly type: "undelivered";
      readonly id: number;
      readonly from: NodeId;
      readonly to: NodeId;
      readonly message: Message;
    }
  | { readonly type: "timer"; readonly node: NodeId; readonly timer: string; readonly subject: number }
  | { readonly type: "persist" | "stored"; readonly node: NodeId; readonly ticket: number }
  | {
      readonly type: "announce";
      readonly node: NodeId;
      readonly role: Role;
      readonly leader: NodeId;
      readonly term: number;
    }
  | { readonly type: "explain"; readonly node: NodeId; readonly rule: string }
  | {
      readonly type: "crash";
      readonly node: NodeId;
      readonly kept: number;
      readonly lost: number;
      readonly isTorn: boolean;
    }
  | { readonly type: "action"; readonly action: Action }
  /** A write to the resource at address 0, and its answer. */
  | { readonly type: "token"; readonly node: NodeId; readonly token: number }
  | {
      readonly type: "write";
      readonly node: NodeId;
      readonly token: number;
      readonly outcome: "accepted" | "stale" | "refused";
    }
  /** A client's request to a node with a log, and the acts of the node's host. */
  | { readonly type: "propose"; readonly node: NodeId; readonly proposed: Proposed }
  | { readonly type: "hosted"; readonly node: NodeId; readonly event: HostEvent }
  | { readonly type: "violation"; readonly invariant: string; readonly story: string }
);

export type ProtocolTrace = Trace<ProtocolEvent>;

/** Returns one line to read; undefined for an action, which the reader has just typed. */
export function formatProtocolEvent(event: ProtocolEvent): string | undefined {
  const what = describe(event);
  return what === undefined ? undefined : `${event.atMs.toFixed(3).padStart(10)}  ${what}`;
}

function describe(event: ProtocolEvent): string | undefined {
  switch (event.type) {
    case "start":
      return `${event.node} starts${event.life > 1 ? ` again, life ${event.life}` : ""}`;
    case "send":
      return `${event.from} → ${event.to}  ${formatMessage(event.message)}${FATES[event.fate]}`;
    case "deliver":
      return `${event.to} ← ${event.from}  ${formatMessage(event.message)}`;
    case "undelivered":
      return `${event.to} is down: ${event.message.type} of ${event.from} finds nobody`;
    case "timer":
      return `${event.node} timer ${event.timer}${event.subject === 0 ? "" : ` ${event.subject}`}`;
    case "persist":
      return `${event.node} writes #${event.ticket}`;
    case "stored":
      return `${event.node} has on disk #${event.ticket}`;
    case "announce":
      return `${event.node} ${describeBelief(event.role, event.leader, event.node)}, term ${event.term}`;
    case "explain":
      return `${event.node} (${event.rule})`;
    case "crash":
      return `${event.node} crashes${event.lost > 0 ? `, ${event.lost} unsynced writes lost${event.isTorn ? ", one torn" : ""}` : ""}${event.kept > 0 ? `, ${event.kept} unsynced kept` : ""}`;
    case "token":
      return `${event.node} gets token ${event.token}`;
    case "write":
      return `${event.node} writes with token ${event.token}: ${WRITES[event.outcome]}`;
    case "propose":
      return `${event.node} is given a proposal: ${describeProposed(event.proposed)}`;
    case "hosted":
      return `${event.node} ${describeHost(event.event)}`;
    case "violation":
      return `VIOLATION ${event.invariant}: ${event.story}`;
    case "action":
      return undefined;
  }
}

function describeProposed(proposed: Proposed): string {
  if (proposed.outcome === "appended") return `appended at ${proposed.index}, term ${proposed.term}`;
  return `refused, ${proposed.why}${proposed.leader === 0 ? "" : `; ${proposed.leader} leads`}`;
}

function describeHost(event: HostEvent): string {
  switch (event.type) {
    case "applied":
      return `applies ${event.entry.index}, term ${event.entry.term}`;
    case "restored":
      return `restores the snapshot of ${event.snapshot.index}`;
    case "compacted":
      return `has a snapshot of ${event.index}`;
    case "acknowledged":
      return `tells a client that ${event.index} is done`;
    case "read":
      return `is asked to read, #${event.request}`;
    case "answered":
      return `answers read #${event.request}`;
  }
}

const FATES: Readonly<Record<MessageFate, string>> = {
  sent: "",
  doubled: "  (twice)",
  lost: "  (lost)",
  cut: "  (cut)",
  held: "  (held)",
};
const WRITES = {
  accepted: "accepted",
  stale: "accepted, though it is stale",
  refused: "refused, a newer token has been here",
};

export function describeBelief(role: Role, leader: NodeId, self: NodeId): string {
  if (role === "leader") return "leads";
  if (role === "candidate") return "is a candidate";
  return leader === 0 || leader === self ? "follows nobody" : `follows ${leader}`;
}

export function formatMessage({ type, ...fields }: Message): string {
  return [type, ...Object.entries(fields).map(([name, value]) => `${name}=${format(value)}`)].join(" ");
}

function format(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
