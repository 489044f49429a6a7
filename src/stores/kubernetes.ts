// `kubernetes:` is a store in the Leases of one namespace: a race, judged by the taker. Each election is a Lease, written as client-go writes it, so that Go candidates
// stand in the same election, and `kubectl get lease` shows the leader.
//
// Clock: the ttl is `leaseDurationSeconds`. Silence is measured on the taker's own monotonic clock, by changes of the record, never by `renewTime`. Proof: an update that names
// version and uid. Token: the resourceVersion of the granting write, in the domain of the namespace's uid; comparable by Kubernetes' own word since 1.35, in fact before.
// Not promised: that a Lease which somebody deletes is not taken at once by one who has not seen it. docs/stores/kubernetes.md has it in sentences.
import { invalidConfig } from "../base/errors.ts";
import { problemsOfKeys } from "../base/option-keys.ts";
import { show } from "../base/show.ts";
import { looksUnset } from "../base/url.ts";
import type { Access } from "../clients/kubernetes/access.ts";
import { borrowedAccess, type KubeConfigClient } from "../clients/kubernetes/borrowed.ts";
import { KubernetesClient } from "../clients/kubernetes/client.ts";
import { findAccess } from "../clients/kubernetes/find-access.ts";
import type { FencedStore, Reopenable } from "./contract.ts";
import { KubernetesStore } from "./kubernetes/kubernetes-store.ts";
import { rbacManifest } from "./kubernetes/manifest.ts";

export type { KubeConfigClient } from "../clients/kubernetes/borrowed.ts";

/** Options of `kubernetes`, which may also stand in its URL. */
export interface KubernetesOptions {
  /** A file. @default those of KUBECONFIG, or the service account of the pod, or ~/.kube/config */
  readonly kubeconfig?: string | undefined;
  /** A context of the kubeconfig. @default its current-context */
  readonly context?: string | undefined;
}

const FORM = /^kubernetes:(?:\/\/)?([^/?#]*)\/?(?:\?([^#]*))?$/i;
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const SETTINGS = ["kubeconfig", "context"] as const;

/**
 * A store in the Leases of a namespace: `kubernetes://NAMESPACE?kubeconfig=FILE&context=NAME`. Without a namespace it is that of the pod, or of the context. Nothing is
 * opened before the first call; needs no client library.
 */
export function kubernetes(url: string, options?: KubernetesOptions): FencedStore & Reopenable;
/** The same with the `KubeConfig` of `@kubernetes/client-node` that a program has already; by default in the namespace of its context. */
export function kubernetes(
  config: KubeConfigClient,
  options?: { readonly namespace?: string | undefined },
): FencedStore;
export function kubernetes(
  source: string | KubeConfigClient,
  given?: KubernetesOptions & { readonly namespace?: string | undefined },
): FencedStore {
  const problems = problemsOfKeys(given, typeof source === "string" ? ["kubeconfig", "context"] : ["namespace"]);
  const options = given ?? {};
  for (const [key, value] of Object.entries(options))
    if (value !== undefined && typeof value !== "string") problems.push(`${key} ${show(value)} is not a text`);
  if (problems.length > 0) throw invalidConfig("kubernetes", problems);
  if (typeof source !== "string") return storeAt(borrowedAccess(source), options.namespace).store;
  const asked = parseUrl(source);
  const wish = { kubeconfig: options.kubeconfig ?? asked.kubeconfig, context: options.context ?? asked.context };
  const { store, namespace } = storeAt(findAccess(wish), asked.namespace);
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(wish)) if (value !== undefined) query.set(key, value);
  return Object.assign(store, { url: `kubernetes://${namespace}${query.size === 0 ? "" : `?${query.toString()}`}` });
}

/** Where the API server of a URL is: for those who watch or cut the way there. */
export function kubernetesAddress(url: string): { readonly host: string; readonly port: number } {
  const { protocol, hostname, port } = new URL(findAccess(parseUrl(url)).server);
  return {
    host: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? (protocol === "http:" ? 80 : 443) : Number(port),
  };
}

function storeAt(
  access: Access,
  asked: string | undefined,
): { readonly store: FencedStore; readonly namespace: string } {
  const namespace = asked ?? access.namespace ?? "default";
  if (!NAMESPACE.test(namespace)) throw invalidConfig("kubernetes", [`${show(namespace)} is no name of a namespace`]);
  return { store: new KubernetesStore({ client: new KubernetesClient(access), namespace }), namespace };
}

/** The manifest of the rights that candidates need: a Role, and its binding to the service account of their pods. */
export function kubernetesManifest(
  options: { readonly namespace?: string | undefined; readonly serviceAccount?: string | undefined } = {},
): string {
  const { namespace = "default", serviceAccount = "default" } = options ?? {};
  const problems = problemsOfKeys(options, ["namespace", "serviceAccount"]);
  for (const [key, value] of Object.entries({ namespace, serviceAccount }))
    if (typeof value !== "string" || !/^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/.test(value))
      problems.push(`${key} ${show(value)} is not a name of Kubernetes`);
  if (problems.length > 0) throw invalidConfig("kubernetesManifest", problems);
  return rbacManifest({ namespace, serviceAccount });
}

function parseUrl(url: string): KubernetesOptions & { readonly namespace: string | undefined } {
  if (looksUnset(url))
    throw invalidConfig("kubernetes", [`${show(url)} is not a URL. Is the environment variable set?`]);
  const match = FORM.exec(url);
  if (match === null)
    throw invalidConfig("kubernetes", ["a URL is kubernetes://NAMESPACE?kubeconfig=FILE&context=NAME"]);
  const settings = new URLSearchParams(match[2] ?? "");
  const unknowns = [...settings.keys()].filter((key) => !SETTINGS.some((known) => known === key));
  if (unknowns.length > 0)
    throw invalidConfig("kubernetes", [
      `${unknowns.map(show).join(", ")} is not a setting of it: ${SETTINGS.join(", ")} are`,
    ]);
  return {
    namespace: match[1] === "" ? undefined : match[1],
    kubeconfig: settings.get("kubeconfig") ?? undefined,
    context: settings.get("context") ?? undefined,
  };
}
