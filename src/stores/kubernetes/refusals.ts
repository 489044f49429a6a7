// Errors of the API server as outcomes of the contract: what is wrong, why, and what to do next. Every error that is not certain is unknown.
import { refusalText } from "../../clients/connect-reasons.ts";
import { KubernetesError, type KubernetesProblem } from "../../clients/kubernetes/errors.ts";
import { ConclaveError } from "../../base/errors.ts";
import { type RefusalCode, type Refused, unknown, type Unknown } from "../../base/outcome.ts";
import { Refusal } from "../../base/refusal.ts";
import type { Name } from "../contract.ts";
import { type Lease, NAME } from "./lease.ts";
import { grantCommand } from "./manifest.ts";

type Sentence = readonly [code: RefusalCode, retryable: boolean, next: string];

const SENTENCES: Readonly<Record<KubernetesProblem, Sentence>> = {
  unreachable: ["STORE_UNREACHABLE", true, "It is tried again."],
  tls: ["STORE_DENIED", false, ""],
  "unknown-user": ["STORE_DENIED", false, "Renew the credential: kubectl auth whoami shows whether it is accepted."],
  forbidden: ["STORE_DENIED", false, ""],
  busy: ["STORE_UNREACHABLE", true, "It is tried again."],
  "too-large": [
    "STORE_FULL",
    false,
    "Announce a shorter value, or keep fewer memos: the annotations of a Lease have 256 KiB together. Nothing was written.",
  ],
  foreign: ["STORE_UNSUPPORTED", false, ""],
  other: ["STORE_UNREACHABLE", true, "It is tried again."],
};

export function outcomeOf(error: unknown, namespace: string): Refused | Unknown {
  if (error instanceof Refusal) return error.refused;
  if (error instanceof ConclaveError) throw error;
  if (!(error instanceof KubernetesError) || error.outcome === "unknown") return unknown(error);
  const [code, retryable, next] = SENTENCES[error.problem];
  const what = error.problem === "forbidden" ? forbidden(error.message, namespace) : refusalText(error, next);
  return { kind: "refused", code, message: `kubernetes: ${what}`, retryable, cause: error };
}

/** A server forbids for other reasons, too: a quota, an admission webhook, a namespace that is being deleted. A Role would change nothing there. */
function forbidden(said: string, namespace: string): string {
  return / cannot \w+ resource /.test(said)
    ? `${said}. Apply once, as an administrator: ${grantCommand(namespace)}`
    : `${said}. That is no missing right of the user: another rule of the cluster forbids it, such as a quota or an admission webhook.`;
}

/** Throws for a Lease that cannot be used for an election of ours. */
export function mustBeElection(lease: Lease, name: Name): void {
  const why = whyForeign(lease, name);
  if (why === undefined) return;
  throw new Refusal("STORE_FOREIGN_DATA", `kubernetes: the Lease ${lease.metadata.name} ${why} Nothing was written.`);
}

/** undefined: the Lease can be used for an election of this name. */
export function whyForeign({ metadata, spec }: Lease, name: Name): string | undefined {
  if (spec.strategy !== undefined && spec.strategy !== "")
    return `is led by Kubernetes' own coordinated election (strategy ${spec.strategy}), which chooses the holder itself. Use another name.`;
  if ((spec.holderIdentity ?? "") !== "" && !((spec.leaseDurationSeconds ?? 0) > 0))
    return "has a holder and no leaseDurationSeconds, so that nobody can tell when it may be taken. Use another name, or delete it.";
  const noted = metadata.annotations?.[NAME];
  if (noted !== undefined && noted !== name)
    return `belongs to the election ${JSON.stringify(noted)}, and not to ${JSON.stringify(name)}. Was it copied? Use another name, or delete it.`;
  return undefined;
}

/** An older client-go waits its own LeaseDuration, whatever is recorded: a Go candidate that has the Lease now shows how long that is. */
export function ttlTooLong(lease: Lease, ttlMs: number, theirsMs: number): Refused {
  const message = `kubernetes: the Lease ${lease.metadata.name} was held by ${JSON.stringify(lease.spec.holderIdentity)} with leaseDurationSeconds ${theirsMs / 1000}, and our ttlMs is ${ttlMs}. A foreign candidate may take over after its own duration, so ours must not be longer: set ttlMs to ${theirsMs} or less. Nothing was written.`;
  return { kind: "refused", code: "STORE_UNSUPPORTED", message, retryable: false };
}

/** The write was definitely not applied: each try was answered with 409. */
export function contention(leaseName: string): Refusal {
  return new Refusal(
    "STORE_UNREACHABLE",
    `kubernetes: the Lease ${leaseName} was changed by others each time it was to be written. It is tried again.`,
    { retryable: true },
  );
}

export function editedEarly(leaseName: string): Refusal {
  return new Refusal(
    "STORE_UNREACHABLE",
    `kubernetes: the Lease ${leaseName} was edited before its first renewal, so that its token is not recorded yet. It is tried again.`,
    { retryable: true },
  );
}
