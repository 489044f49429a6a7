// The errors that can happen between this client and an API server, and what each says about the request. `not-applied`: the server said so before it did anything, or the request never left. `unknown`:
// anything else, including every 5xx: the server may have lost the answer of its own database.
import { unreachedText } from "../connect-reasons.ts";

export type KubernetesProblem =
  /** There is no connection. */
  | "unreachable"
  /** A certificate that one side does not accept, or no TLS where there should be. */
  | "tls"
  /** 401, or a credential that could not be obtained. */
  | "unknown-user"
  /** 403. */
  | "forbidden"
  /** 429, or the server answered 429 a moment ago. */
  | "busy"
  /** The request is larger than the server accepts. */
  | "too-large"
  /** The answer comes from no API server, or from one without Leases. */
  | "foreign"
  | "other";

export class KubernetesError extends Error {
  override readonly name: string = "KubernetesError";
  readonly problem: KubernetesProblem;
  readonly outcome: "not-applied" | "unknown";

  constructor(problem: KubernetesProblem, outcome: "not-applied" | "unknown", message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.problem = problem;
    this.outcome = outcome;
  }
}

/** Statuses that are an error for every request. Others (404, 409, 410, 422) mean something to the caller. */
export function errorOfStatus(status: number, place: string, said: string): KubernetesError | undefined {
  if (mayBeDone(status)) return new KubernetesError("other", "unknown", `${place} answered ${status} (${said})`);
  if (isDone(status)) return new KubernetesError("foreign", "unknown", `${place} answered ${status} (${said})`);
  switch (status) {
    case 401:
      return new KubernetesError("unknown-user", "not-applied", `${place} does not know who asks (401 ${said})`);
    case 403:
      return new KubernetesError("forbidden", "not-applied", said);
    case 413:
      return new KubernetesError("too-large", "not-applied", `${place} takes no request of that size (${said})`);
    case 429:
      return new KubernetesError("busy", "not-applied", `${place} has too many requests (429)`);
    case 200:
    case 201:
    case 404:
    case 409:
    case 410:
    case 422:
      return undefined;
    default:
      return new KubernetesError("foreign", "not-applied", `${place} answered ${status} (${said})`);
  }
}

/** 408 and 499 come from a proxy that has had no answer in time, or thinks that nobody waits any more. The request may have gone on to the server. */
function mayBeDone(status: number): boolean {
  return status >= 500 || status === 408 || status === 499;
}

/** A success that is not expected, such as 202 of something in between: the request may have been carried out. */
export function isDone(status: number): boolean {
  return status > 201 && status < 300;
}

/** The request did not leave, because there was no connection. */
export function connectionError(place: string, cause: unknown): KubernetesError {
  const said = (cause as { readonly code?: unknown } | undefined)?.code;
  const code = typeof said === "string" ? said : "";
  const text = cause instanceof Error ? cause.message : String(cause);
  const lasting = secureReason(code, text);
  if (lasting !== undefined) return new KubernetesError("tls", "not-applied", `${place} ${lasting}`, cause);
  return new KubernetesError("unreachable", "not-applied", `${place} ${unreachedText(code, text)}`, cause);
}

function secureReason(code: string, text: string): string | undefined {
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|wrong version number|packet length too long/.test(`${code} ${text}`))
    return "does not speak TLS: write http:// as the server of the kubeconfig, or use the server's port for TLS";
  if (/^(?:SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_(?:VERIFY|GET_ISSUER))/.test(code))
    return `shows a certificate that cannot be verified (${code}): name the authority that signed it, as certificate-authority in the kubeconfig`;
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return `shows a certificate of another name (${text}): name the one it has, as tls-server-name in the kubeconfig`;
  if (code === "CERT_HAS_EXPIRED") return "shows a certificate that has expired: renew it there";
  if (/ALERT|HANDSHAKE|ERR_SSL/.test(code))
    return `ended the TLS handshake (${code}): does it accept the client certificate?`;
  if (/ERR_OSSL|PEM/.test(code)) return `cannot be asked: a certificate or key of ours is not readable (${text})`;
  return undefined;
}
