// A client of one etcd cluster with several endpoints. It keeps one connection, and opens the next when that one is lost or suspect: the endpoints are tried in turn, beginning after the one that failed,
// each a quarter of a second after the one before, and the first that is fit is taken. An endpoint is fit if it speaks HTTP/2, accepts our credentials, has a leader, is 3.4 or newer, and belongs to the
// same cluster as the one before.
//
// Opening a connection is no request, so trying many endpoints is not trying a request twice. A request is sent once.
import type { StopSignal } from "../stop-signal.ts";
import { type Endpoint, nameOf } from "../url-parts.ts";
import type { EtcdAddress } from "./address.ts";
import { EtcdConnection } from "./connection.ts";
import { EtcdError, isPermissionDenied } from "./errors.ts";
import { EtcdLink } from "./link.ts";
import type { Status } from "./messages.ts";
import { atLeast, older } from "./version.ts";

const NEXT_ENDPOINT_AFTER_MS = 250;
const OPEN_WITHIN_MS = 3_000;
const OLDEST = "3.4.0";
/** Members that show their status to root alone are 3.6, or have the repair of CVE-2026-33413. None of these versions ends a lease early (stores/etcd/guarantee.ts). */
const FIRST_TO_HIDE_STATUS = "3.5.28";

export class EtcdClient {
  readonly address: EtcdAddress;
  readonly #connections = new Set<EtcdConnection>();
  #current: EtcdLink | undefined;
  #opening: Promise<EtcdLink> | undefined;
  #first = 0;
  #cluster: bigint | undefined;
  #oldestSeen: string | undefined;

  constructor(address: EtcdAddress) {
    this.address = address;
  }

  /** The oldest version of a member that we have talked to. */
  get oldestSeen(): string | undefined {
    return this.#oldestSeen;
  }

  /** Returns a connection that is fit, or throws an EtcdError whose request was certainly not applied. */
  async link(signal: StopSignal): Promise<EtcdLink> {
    if (this.#current?.connection.isFit === true) return this.#current;
    this.#opening ??= this.#open().finally(() => (this.#opening = undefined));
    return await until(this.#opening, signal, this.address);
  }

  /** Closes every connection that was opened. The next call opens one anew. */
  close(): void {
    this.#current = undefined;
    for (const connection of this.#connections) connection.destroy();
    this.#connections.clear();
  }

  async #open(): Promise<EtcdLink> {
    const { endpoints } = this.address;
    const failed = this.#current?.connection.endpoint;
    if (failed !== undefined) this.#first = (endpoints.indexOf(failed) + 1) % endpoints.length;
    this.#current = undefined;
    const order = endpoints.map((_, index) => endpoints[(this.#first + index) % endpoints.length]);
    const link = await firstOf(
      order.filter((endpoint) => endpoint !== undefined),
      (endpoint, signal) => this.#tryEndpoint(endpoint, signal),
    );
    this.#current = link;
    return link;
  }

  async #tryEndpoint(endpoint: Endpoint, signal: AbortSignal): Promise<EtcdLink> {
    const forget = (closed: EtcdConnection): void => void this.#connections.delete(closed);
    const connection = await EtcdConnection.open(endpoint, this.address.tls, signal, forget);
    const link = new EtcdLink(connection, this.address.user);
    this.#connections.add(connection);
    try {
      await link.authenticate(signal);
      await this.#examine(link, signal);
      return link;
    } catch (error) {
      connection.destroy();
      // One that ended at once was forgotten before it was noted.
      this.#connections.delete(connection);
      const problem = error instanceof EtcdError ? error.problem : "unreachable";
      const why = error instanceof Error ? error.message : String(error);
      // No request that matters has been sent yet.
      throw new EtcdError(
        problem === "other" ? "unreachable" : problem,
        "not-applied",
        `${nameOf(endpoint)}: ${why}`,
        error,
      );
    }
  }

  async #examine(link: EtcdLink, signal: StopSignal): Promise<void> {
    const { version, leader, header } = await statusOf(link, signal);
    if (!atLeast(version, OLDEST))
      throw new EtcdError("unsupported", "not-applied", `etcd ${version} is older than 3.4`);
    this.#cluster ??= header.clusterId;
    if (header.clusterId !== this.#cluster)
      throw new EtcdError(
        "other-cluster",
        "not-applied",
        `belongs to cluster ${header.clusterId.toString(16)}, and this process has used cluster ${this.#cluster.toString(16)}`,
      );
    if (leader === 0n) throw new EtcdError("unreachable", "not-applied", "this member knows of no leader");
    this.#oldestSeen = this.#oldestSeen === undefined ? version : older(this.#oldestSeen, version);
  }
}

/**
 * Asks only for what a user without any right on keys may ask. A refused status request still says how new the member is. The rest is in the head of an answer that every user gets who may log in: the
 * remaining time of a lease that cannot exist. (The list of members is not such an answer: 3.5.28 hides it too.)
 */
async function statusOf(link: EtcdLink, signal: StopSignal): Promise<Status> {
  try {
    return await link.status(signal);
  } catch (error) {
    if (!isPermissionDenied(error)) throw error;
    const { header } = await link.timeToLive(0n, false, signal);
    // A member without a leader would have refused to answer, because every request asks for a leader.
    return { version: FIRST_TO_HIDE_STATUS, leader: header.memberId, header };
  }
}

/** Starts one try after the other. The next starts when the one before has failed or is slow; the first success ends the others. */
function firstOf(
  endpoints: readonly Endpoint[],
  attempt: (endpoint: Endpoint, signal: AbortSignal) => Promise<EtcdLink>,
): Promise<EtcdLink> {
  return new Promise((resolve, reject) => {
    const controller = new AbortController();
    const errors: EtcdError[] = [];
    let started = 0;
    let next: NodeJS.Timeout | undefined;
    let isOver = false;
    const end = (): void => {
      isOver = true;
      clearTimeout(next);
      clearTimeout(last);
      controller.abort();
    };
    const fail = (): void => {
      end();
      reject(allFailed(errors, endpoints));
    };
    const last = setTimeout(fail, OPEN_WITHIN_MS);
    const begin = (): void => {
      clearTimeout(next);
      const endpoint = endpoints[started++];
      if (endpoint === undefined || isOver) return;
      if (started < endpoints.length) next = setTimeout(begin, NEXT_ENDPOINT_AFTER_MS);
      attempt(endpoint, controller.signal).then(
        (link) => {
          if (isOver) return link.connection.destroy();
          end();
          return resolve(link);
        },
        (error: unknown) => {
          if (isOver) return;
          errors.push(error as EtcdError);
          if (errors.length === endpoints.length) fail();
          else begin();
        },
      );
    };
    begin();
  });
}

/** A failure that waiting can mend outweighs one that it cannot: another member may be well tomorrow. */
function allFailed(errors: readonly EtcdError[], endpoints: readonly Endpoint[]): EtcdError {
  const silent = endpoints.length - errors.length;
  const messages = errors.map(({ message }) => message);
  if (silent > 0)
    messages.push(`${silent === 1 ? "an endpoint" : `${silent} endpoints`} did not answer within ${OPEN_WITHIN_MS} ms`);
  const lasting = errors.find(({ problem }) => problem !== "unreachable");
  const passing = silent > 0 ? undefined : errors.find(({ problem }) => problem === "unreachable");
  const problem = silent > 0 || passing !== undefined ? "unreachable" : (lasting?.problem ?? "unreachable");
  return new EtcdError(problem, "not-applied", messages.join("; "), errors[0]?.cause);
}

/** One opening serves all callers that wait. A caller that cannot wait any longer leaves, and nothing was sent for it. */
function until(opening: Promise<EtcdLink>, signal: StopSignal, { endpoints }: EtcdAddress): Promise<EtcdLink> {
  return new Promise((resolve, reject) => {
    const leave = (): void =>
      reject(
        new EtcdError(
          "unreachable",
          "not-applied",
          `no connection to ${endpoints.map(nameOf).join(", ")} in time`,
          signal.reason,
        ),
      );
    if (signal.aborted) leave();
    signal.addEventListener("abort", leave, { once: true });
    opening.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  });
}
