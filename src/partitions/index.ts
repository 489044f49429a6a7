// conclave/partitions: a leader for each partition of a group.
export { joinPartitions, type PartitionGroup } from "./group.ts";
export type { PartitionWork } from "./member-host.ts";
export type { PartitionOptions, PartitionsOfGroup } from "./options.ts";
export {
  rendezvousPartitions,
  type RendezvousGroup,
  type RendezvousLead,
  type RendezvousOptions,
} from "./rendezvous.ts";
export type { PartitionTerm } from "./partition-term.ts";
