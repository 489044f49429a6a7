// The operations that failover needs of a kind of server (redis.ts, postgres.ts): look at one, promote it, make it follow another, let it hand over. An outcome has three values: a command without an answer is `unknown`.
import type { View } from "./choice.ts";
import type { GuardOutcome } from "./guard-machine.ts";
import type { PromotableSet } from "./record.ts";

/** One server of the group, as the configuration names it. */
export interface ServerSpec {
  readonly name: string;
  readonly url: string;
  /** The host as clients and replicas reach it. */
  readonly host: string;
  readonly port: number;
  readonly priority: number;
}

/** A connection to one process of one server. After a break it does not reach another process. */
export interface ServerLink {
  readonly isOpen: boolean;
  /** Never rejects. */
  view(): Promise<View>;
  /** The id of the process that answers, where the server tells it. */
  pid(): Promise<number | undefined>;
  promote(promotion: Promotion): Promise<GuardOutcome>;
  /** `parted`: this server has data that `primary` does not have, and cannot follow it before that data is taken back (`Beginning.mends`). If nobody knows, the answer is not `parted`. */
  follow(primary: ServerSpec): Promise<GuardOutcome | "parted">;
  /** True if the last command to follow still holds, so that nothing has to be done. `false` if nobody knows. */
  isFollowing(primary: ServerSpec): Promise<boolean>;
  /** The server takes no more writes, waits until `to` has everything, and then becomes a replica of it, or ends. `not-done`: it takes writes again. */
  retire(to: ServerSpec, withinMs: number): Promise<GuardOutcome>;
  /** The server takes writes again, unless it was told already to become a replica or to end. `retire`, if it is under way, answers what has become of it. */
  unretire(): Promise<void>;
  close(): void;
}

/** The facts that a server is told when it becomes the primary. */
export interface Promotion {
  /** The number of everything that the server writes from now on. Nothing else ever has this number. */
  readonly generation: number;
  /** The standbys whose confirmation its commits wait for, as the record says. If undefined, commits wait for nobody. */
  readonly standbys: PromotableSet | undefined;
}

/** The facts that are known when a service is about to be started. No process of an earlier service lives. */
export interface Beginning {
  readonly server: ServerSpec;
  readonly command: readonly string[];
  /** The server that it shall follow; undefined for none. */
  readonly primary: ServerSpec | undefined;
  /** The server has parted from `primary`, or may have: data that only this server has is taken back first. Nothing is done if there is no such data. */
  readonly mends: boolean;
  readonly signal: AbortSignal;
}

/** How to start the service. */
export interface Prepared {
  readonly command: readonly string[];
  /** One sentence that a human has to know. */
  readonly trouble?: string | undefined;
}

/** A kind of server: how to reach the servers of a group, and how to start one as a replica. */
export interface Replication {
  readonly kind: string;
  /** All servers of the group, by name. */
  readonly servers: Readonly<Record<string, ServerSpec>>;
  connect(server: ServerSpec): Promise<ServerLink>;
  /** Why its processes can be found only in a cgroup. Undefined if they can be found without one. */
  readonly needsCgroup?: string | undefined;
  /** The signal that asks the service to end soon and cleanly. */
  readonly stopSignal: NodeJS.Signals;
  /** Prepares its files on disk, so that it starts as a replica of `primary`, or of nobody until it is told to follow, and never as a primary. Throws CONFIG_INVALID if it must not be started at all. */
  prepare(beginning: Beginning): Promise<Prepared>;
  /**
   * The service that was prepared last was started, and does not answer. If it has to get something from `primary` before it can answer, this tells it to. Such a server confirms nothing. `isOurs` is asked right before the
   * files of the service are changed: true if the service is still to follow `primary`, and has this process.
   */
  seek?(primary: ServerSpec, isOurs: (pid: number) => boolean): Promise<void>;
}
