// The few requests on Leases that an election makes, each as one request: get, list, create, update. An update names the version AND the uid that it replaces.
//
// ARGUMENT for the uid: an update of a Lease that does not exist creates it, which the API server does for few other kinds. Without the uid the renewal of a Lease that somebody has
// deleted would bring it back, and its holder would go on beside the one that had taken over. With the uid the update is refused (409), and the look that follows finds nothing.
//
// ARGUMENT that the answer to another request makes no leader: in HTTP/1.1 an answer belongs to a request by its place alone, and a server or a proxy can err. So the answer to a write counts only if it shows
// what was written: the Lease of that name and uid, with that holder, in a later version than the one that was replaced. A holder has the bid of its attempt in its name, so that no other grant shows it; and
// an earlier answer about the same holder shows no later version. Anything else is unknown: the write may have been carried out.
import { type ApiAnswer, type KubernetesClient, USER_AGENT } from "../../clients/kubernetes/client.ts";
import { KubernetesError } from "../../clients/kubernetes/errors.ts";
import type { StopSignal } from "../../clients/stop-signal.ts";
import { holderOf, type Lease, readLease, versionNumber } from "./lease.ts";

export interface ListedLeases {
  readonly leases: readonly Lease[];
  readonly version: string;
}

/** The items of a list come without these two fields. */
const KIND = { apiVersion: "coordination.k8s.io/v1", kind: "Lease" };

export class LeaseDesk {
  readonly #client: KubernetesClient;
  readonly #namespace: string;
  readonly path: string;

  constructor(client: KubernetesClient, namespace: string) {
    this.#client = client;
    this.#namespace = namespace;
    this.path = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`;
  }

  /** The uid of the namespace: tokens are comparable within it. */
  async namespaceUid(signal: StopSignal): Promise<string> {
    const path = `/api/v1/namespaces/${encodeURIComponent(this.#namespace)}`;
    const { status, json } = await this.#client.send("GET", path, undefined, signal);
    const { name, uid } =
      ((json ?? {}) as { readonly metadata?: { readonly name?: unknown; readonly uid?: unknown } }).metadata ?? {};
    if (status === 200 && typeof name === "string" && name !== this.#namespace)
      throw aboutAnother(`the namespace ${this.#namespace}`, name);
    if (status === 200 && typeof uid === "string" && uid !== "") return uid;
    const message =
      status === 404
        ? `there is no namespace ${this.#namespace} at ${this.#client.access.server}. Make it: kubectl create namespace ${this.#namespace}`
        : `${this.#client.access.server} answered ${status} when it was asked for the namespace ${this.#namespace}`;
    throw new KubernetesError("foreign", "not-applied", message);
  }

  /** Such as "v1.35.0"; undefined if the server does not tell. */
  async serverVersion(signal: StopSignal): Promise<string | undefined> {
    try {
      const { json } = await this.#client.send("GET", "/version", undefined, signal);
      const { gitVersion } = (json ?? {}) as { readonly gitVersion?: unknown };
      return typeof gitVersion === "string" ? gitVersion : undefined;
    } catch {
      return undefined;
    }
  }

  /** undefined: there is none of that name. */
  async get(leaseName: string, signal: StopSignal): Promise<Lease | undefined> {
    const answer = await this.#client.send("GET", `${this.path}/${leaseName}`, undefined, signal);
    if (answer.status === 200) return named(leaseName, readLease(answer.json));
    if (answer.status === 404 && isAbout(answer, leaseName)) return undefined;
    throw unexpected(answer, `the Lease ${leaseName}`);
  }

  async list(selector: { readonly label?: string; readonly name?: string }, signal: StopSignal): Promise<ListedLeases> {
    const query = new URLSearchParams({
      ...(selector.label === undefined ? {} : { labelSelector: selector.label }),
      ...(selector.name === undefined ? {} : { fieldSelector: `metadata.name=${selector.name}` }),
    });
    const answer = await this.#client.send("GET", `${this.path}?${query.toString()}`, undefined, signal);
    const { items, metadata } = (answer.json ?? {}) as {
      readonly items?: unknown;
      readonly metadata?: { readonly resourceVersion?: unknown };
    };
    const version = metadata?.resourceVersion;
    if (answer.status !== 200 || typeof version !== "string") throw unexpected(answer, "a list of Leases");
    return {
      leases: Array.isArray(items) ? items.map((item: object) => readLease({ ...KIND, ...item })) : [],
      version,
    };
  }

  /** "conflict": there is a Lease of that name already. */
  async create(lease: object, signal: StopSignal): Promise<Lease | "conflict"> {
    const answer = await this.#client.send("POST", this.path, { ...KIND, ...lease }, signal);
    if (answer.status === 201 || answer.status === 200) return written(lease, readLease(answer.json));
    if (answer.status === 409) return "conflict";
    throw unexpected(answer, "a Lease that was to be made");
  }

  /** "conflict": another version stands there, or another Lease, or none. */
  async update(leaseName: string, lease: object, signal: StopSignal): Promise<Lease | "conflict"> {
    const answer = await this.#client.send("PUT", `${this.path}/${leaseName}`, withoutNotes(lease), signal);
    if (answer.status === 200) return written(lease, readLease(answer.json));
    if (answer.status === 409 || answer.status === 404) return "conflict";
    throw unexpected(answer, `the Lease ${leaseName}`);
  }
}

/**
 * The server notes who has written which field, and works these notes out anew with every update: two fifths of the processor time that an update of ours takes there. They say which writer may
 * change a field without a conflict. So where nobody but this client is noted, they are taken away, by a list with one empty entry; then the server makes none any more. Where others are noted, all stay.
 */
function withoutNotes(lease: object): object {
  const { metadata } = lease as Partial<Pick<Lease, "metadata">>;
  const noted = metadata?.managedFields ?? [];
  const isOursAlone = noted.every(({ manager, operation }) => manager === USER_AGENT && operation === "Update");
  return noted.length > 0 && isOursAlone ? { ...lease, metadata: { ...metadata, managedFields: [{}] } } : lease;
}

function named(leaseName: string, lease: Lease): Lease {
  if (lease.metadata.name !== leaseName) throw aboutAnother(`the Lease ${leaseName}`, lease.metadata.name);
  return lease;
}

function aboutAnother(asked: string, name: string): KubernetesError {
  return new KubernetesError("foreign", "unknown", `a request for ${asked} was answered with ${JSON.stringify(name)}`);
}

/** Throws if the answer does not show what was sent. A Lease that is made has neither uid nor version before. */
function written({ metadata, spec }: Partial<Lease>, answered: Lease): Lease {
  const { name = "", uid, resourceVersion } = metadata ?? {};
  const isSame =
    (uid === undefined || answered.metadata.uid === uid) &&
    holderOf(answered) === (spec?.holderIdentity ?? "") &&
    (resourceVersion === undefined || versionNumber(answered) > BigInt(resourceVersion));
  if (isSame) return named(name, answered);
  throw new KubernetesError(
    "foreign",
    "unknown",
    `the Lease ${name} was written, and the answer shows another state of it`,
  );
}

/** Whether the answer means that the server knows Leases and has none of this name, and not that it knows no such path. */
function isAbout({ json }: ApiAnswer, leaseName: string): boolean {
  const { message } = (json ?? {}) as { readonly message?: unknown };
  return typeof message === "string" && message.includes(`"${leaseName}"`);
}

function unexpected({ status, json }: ApiAnswer, what: string): KubernetesError {
  const { message } = (json ?? {}) as { readonly message?: unknown };
  const said = typeof message === "string" ? message : "nothing";
  const problem = status === 422 && /annotations: Too long/.test(said) ? "too-large" : "foreign";
  // A success that was not expected is one all the same: a server may make the Lease anew that was to be updated, and answers 201.
  const outcome = status < 300 ? "unknown" : "not-applied";
  return new KubernetesError(problem, outcome, `${what}: ${status} (${said})`);
}
