// What failover asks of a kind of server (redis.ts; postgres.ts): look at one, promote it, make it follow another, let it hand over. Outcomes are three-valued: what was not answered is unknown.
import type { View } from "./choice.ts";
import type { GuardOutcome } from "./guard-machine.ts";
import type { PromotableSet } from "./record.ts";

/** One server of the group, as the configuration names it. */
export interface ServerSpec {
  readonly name: string;
  readonly url: string;
  /** As clients and replicas reach it. */
  readonly host: string;
  readonly port: number;
  readonly priority: number;
}

/** A connection to one process of one server. After a break it reaches nobody. */
export interface ServerLink {
  readonly isOpen: boolean;
  /** Never rejects. */
  view(): Promise<View>;
  /** The process that answers, where the server says so. */
  pid(): Promise<number | undefined>;
  promote(promotion: Promotion): Promise<GuardOutcome>;
  /** `parted`: it has what `primary` does not have, and cannot follow it before that is taken back (`Beginning.mends`). What nobody knows is not parted. */
  follow(primary: ServerSpec): Promise<GuardOutcome | "parted">;
  /** What it was told last still holds, so that nothing has to be done. `false` if nobody knows. */
  isFollowing(primary: ServerSpec): Promise<boolean>;
  /** Takes no more writes, waits until `to` has everything, becomes a replica of it, or ends. `not-done`: it takes writes again. */
  retire(to: ServerSpec, withinMs: number): Promise<GuardOutcome>;
  unretire(): Promise<void>;
  close(): void;
}

/** What a server is told when it becomes the primary. */
export interface Promotion {
  /** What it writes from now on has this number, and nothing else ever. */
  readonly generation: number;
  /** Whose confirmation its commits wait for, as the record has it; undefined: they wait for nobody. */
  readonly standbys: PromotableSet | undefined;
}

/** What is known when a service is about to be started. Nothing of an earlier one lives. */
export interface Beginning {
  readonly server: ServerSpec;
  readonly command: readonly string[];
  /** Whom it shall follow; undefined: nobody. */
  readonly primary: ServerSpec | undefined;
  /** It has parted from `primary`, or may have: what only this server has is to be taken back first. Nothing is done if there is no such thing. */
  readonly mends: boolean;
  readonly signal: AbortSignal;
}

/** How to start it. */
export interface Prepared {
  readonly command: readonly string[];
  /** What a human has to know, in a sentence. */
  readonly trouble?: string | undefined;
}

/** A kind of server: how to reach the servers of a group, and how to start one as a replica. */
export interface Replication {
  readonly kind: string;
  /** All servers of the group, by name. */
  readonly servers: Readonly<Record<string, ServerSpec>>;
  connect(server: ServerSpec): Promise<ServerLink>;
  /** Why its processes can be found in a cgroup only; undefined: they can be found without one. */
  readonly needsCgroup?: string | undefined;
  /** Asks the service to end soon, and cleanly. */
  readonly stopSignal: NodeJS.Signals;
  /** Makes what it has on disk ready, so that it starts as a replica of `primary`, or of nobody until it is told to follow, and never as a primary. Throws CONFIG_INVALID if it must not be started at all. */
  prepare(beginning: Beginning): Promise<Prepared>;
}
