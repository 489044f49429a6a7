// The acts of a leader, where a world has a resource: it asks the lock service for a token, and then writes with it at a steady pace until it leads no more, dies, or is refused. All these messages
// travel over the links to address 0, which can be cut, held, lossy and doubling like any other. Nothing is asked for twice: a leader whose question was lost does not write.
import type { Actor, Kernel } from "../kernel/kernel.ts";
import type { Message, NodeId } from "../../protocols/node.ts";
import type { AcceptedWrite } from "./invariants/invariant.ts";
import type { HeldMessage, Links } from "./links.ts";
import type { Member } from "./member.ts";
import type { LockedResource } from "./locked-resource.ts";
import type { ProtocolSpec } from "./spec.ts";
import type { ProtocolTrace } from "./trace.ts";

/** The errands elected, granted, next-write and refusal happen at the member, ask and write at address 0. */
export type WriterErrand = "elected" | "ask" | "granted" | "next-write" | "write" | "refusal";

interface Surroundings extends Actor {
  readonly kernel: Kernel;
  readonly links: Links;
  readonly resource: LockedResource;
  readonly trace: ProtocolTrace;
  readonly spec: ProtocolSpec;
  /** The resource has taken a write. */
  written(write: AcceptedWrite): void;
}

const RESOURCE = 0;

/** `detail` is the token; for `next-write` the number of the write loop. */
export function attend(world: Surroundings, errand: WriterErrand, member: Member, detail: number): void {
  const { resource, kernel, trace, spec } = world;
  const { nowMs } = kernel;
  switch (errand) {
    case "elected":
      return travel(world, member, "ask", 0);
    case "ask":
      return travel(world, member, "granted", resource.grant());
    case "granted": {
      if (!member.isUp || member.role !== "leader") return;
      trace.record(nowMs, { type: "token", node: member.id, token: detail });
      return attend(world, "next-write", member, resource.begin(member.id, detail));
    }
    case "next-write": {
      const token = resource.tokenFor(member, detail);
      if (token === undefined) return;
      travel(world, member, "write", token);
      kernel.schedule(nowMs + spec.writeEveryMs, world, "next-write", member.id, undefined, detail);
      return;
    }
    case "write": {
      const outcome = resource.write(member.id, detail, nowMs);
      trace.record(nowMs, { type: "write", node: member.id, token: detail, outcome });
      if (outcome === "refused") travel(world, member, "refusal", detail);
      else world.written({ atMs: nowMs, node: member.id, token: detail });
      return;
    }
    case "refusal":
      return resource.stop(member.id, detail);
  }
}

/** An errand that waits on a held link to or from the resource. */
interface HeldErrand extends Message {
  readonly type: WriterErrand;
  readonly detail: number;
}

function travel(world: Surroundings, { id }: Member, errand: WriterErrand, detail: number): void {
  const [from, to] = errand === "ask" || errand === "write" ? [id, RESOURCE] : [RESOURCE, id];
  const fate = world.links.fateOf(from, to);
  if (fate === "held") {
    const message: HeldErrand = { type: errand, detail };
    world.links.keep({ from, to, message, id: 0 });
  } else if (fate === "sent" || fate === "doubled") arrive(world, from, to, errand, detail);
  if (fate === "doubled") arrive(world, from, to, errand, detail);
}

function arrive(world: Surroundings, from: NodeId, to: NodeId, errand: WriterErrand, detail: number): void {
  const { kernel, links } = world;
  const member = from === RESOURCE ? to : from;
  kernel.schedule(links.arrivalMs(from, to, kernel.nowMs), world, errand, member, undefined, detail);
}

/** A held message travels on. False: it is one between members. */
export function releaseErrand(world: Surroundings, { from, to, message }: HeldMessage): boolean {
  if (from !== RESOURCE && to !== RESOURCE) return false;
  const { type, detail } = message as HeldErrand;
  arrive(world, from, to, type, detail);
  return true;
}
