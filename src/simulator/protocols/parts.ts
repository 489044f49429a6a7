// The parts of a world of a protocol, new or as a copy: kernel, links, trace, resource, and the random numbers of disks, actions and clients, each with a stream of its own.
import { createRng, type Rng } from "../../base/rng.ts";
import { type Actor, Kernel } from "../kernel/kernel.ts";
import { Trace } from "../kernel/trace.ts";
import { Links } from "./links.ts";
import { LockedResource } from "./locked-resource.ts";
import type { ProtocolSpec } from "./spec.ts";
import type { ProtocolEvent, ProtocolTrace } from "./trace.ts";

const STREAMS = { ties: 51, links: 52, disks: 53, actions: 54, clients: 55 } as const;

export interface Parts {
  readonly kernel: Kernel;
  readonly links: Links;
  readonly trace: ProtocolTrace;
  readonly resource: LockedResource;
  readonly disks: Rng;
  readonly actions: Rng;
}

export function newParts(spec: ProtocolSpec, isRecorded: boolean): Parts {
  const stream = (part: keyof typeof STREAMS): Rng => createRng(spec.seed, STREAMS[part]);
  return {
    kernel: new Kernel(spec.isOrdered ? undefined : stream("ties")),
    links: new Links(spec.nodes, stream("links"), spec.links),
    trace: new Trace<ProtocolEvent>(isRecorded),
    resource: new LockedResource(spec.isFenced),
    disks: stream("disks"),
    actions: stream("actions"),
  };
}

export function forkParts(origin: Parts, actorOf: () => Actor): Parts {
  return {
    kernel: origin.kernel.fork(actorOf),
    links: origin.links.fork(),
    trace: origin.trace.fork(),
    resource: origin.resource.fork(),
    disks: { ...origin.disks },
    actions: { ...origin.actions },
  };
}

export function clientsLuck(spec: ProtocolSpec): Rng {
  return createRng(spec.seed, STREAMS.clients);
}
