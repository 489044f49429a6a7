// The errors that can happen between this client and etcd, and what each says about the request. `not-applied`: etcd said so, or the request never left. `unknown`: anything else. A caller that guesses
// wrong here can make two leaders, so every error that is not listed is unknown.

/** The status codes of gRPC that are read here. */
export const GRPC = {
  invalidArgument: 3,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  unimplemented: 12,
  unavailable: 14,
  unauthenticated: 16,
} as const;

export type EtcdProblem =
  /** There is no connection: nothing listens there, or no server that is fit to answer. */
  | "unreachable"
  /** TLS where there is none, or none where there is, or a certificate that one side does not accept. */
  | "tls"
  /** A wrong password, an invalid token, or a missing right. */
  | "denied"
  | "lease-not-found"
  | "lease-exists"
  /** The endpoints belong to more than one cluster. */
  | "other-cluster"
  /** The server is too old, or lacks a part of the API. */
  | "unsupported"
  | "no-space"
  | "too-large"
  | "busy"
  | "other";

export class EtcdError extends Error {
  override readonly name: string = "EtcdError";
  readonly problem: EtcdProblem;
  readonly outcome: "not-applied" | "unknown";

  constructor(problem: EtcdProblem, outcome: "not-applied" | "unknown", message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.problem = problem;
    this.outcome = outcome;
  }
}

/** The bytes that came are no message of etcd: a proxy, a cut stream, a mistake. The request may have been carried out. */
export function unreadable(cause: unknown): EtcdError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new EtcdError("other", "unknown", `what came is no answer of etcd: ${why}`, cause);
}

/** The messages that etcd sends before it has done anything. Their texts are part of its API: its own client compares them (api/v3rpc/rpctypes/error.go). */
const SAID: readonly (readonly [text: string, problem: EtcdProblem])[] = [
  ["etcdserver: requested lease not found", "lease-not-found"],
  ["etcdserver: lease already exists", "lease-exists"],
  ["etcdserver: permission denied", "denied"],
  ["etcdserver: invalid auth token", "denied"],
  ["etcdserver: revision of auth store is old", "denied"],
  ["etcdserver: user name is empty", "denied"],
  ["etcdserver: authentication failed, invalid user ID or password", "denied"],
  ["etcdserver: authentication is not enabled", "denied"],
  ["etcdserver: mvcc: database space exceeded", "no-space"],
  ["etcdserver: request is too large", "too-large"],
  // gRPC itself says this, at 512 KB more than etcd's own limit, before etcd has read the request.
  ["grpc: received message larger than max", "too-large"],
  ["etcdserver: too many requests", "busy"],
  ["etcdserver: rpc not supported for learner", "unreachable"],
  ["etcdserver: not capable", "unsupported"],
  // Every request asks for this check (`hasleader`), and it is answered before the request is looked at. A lease that is kept alive on a stream may be renewed before this error ends the stream: the
  // renewal then counts as failed, which is safe.
  ["etcdserver: no leader", "unreachable"],
];

export function errorOfStatus(code: number, message: string): EtcdError {
  const said = SAID.find(([text]) => message.startsWith(text));
  if (said !== undefined) return new EtcdError(said[1], "not-applied", message);
  if (code === GRPC.unimplemented) return new EtcdError("unsupported", "not-applied", message || "unknown method");
  return new EtcdError("other", "unknown", `${message || "no message"} (gRPC status ${code})`);
}

/** The token has expired, or was made before rights changed: the caller gets another token and sends the request again. */
export function wantsNewToken(error: unknown): boolean {
  return (
    error instanceof EtcdError &&
    /^etcdserver: (?:invalid auth token|revision of auth store is old)/.test(error.message)
  );
}

export function isLeaseNotFound(error: unknown): boolean {
  return error instanceof EtcdError && error.problem === "lease-not-found";
}

/** etcd knows the user, and the user may not do this. */
export function isPermissionDenied(error: unknown): boolean {
  return error instanceof EtcdError && error.message.startsWith("etcdserver: permission denied");
}
