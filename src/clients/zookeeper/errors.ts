// The errors that can happen between this client and ZooKeeper, and what each says about the request. `not-applied`: the server said so, or the request never left. `unknown`: anything else. A caller
// that guesses wrong here can make two leaders, so every error that is not listed is unknown.

/** The codes of ZooKeeper that are read here (org.apache.zookeeper.KeeperException.Code). */
export const CODE = {
  ok: 0,
  inconsistency: -2,
  unimplemented: -6,
  badArguments: -8,
  noNode: -101,
  noAuth: -102,
  badVersion: -103,
  nodeExists: -110,
  notEmpty: -111,
  sessionExpired: -112,
  invalidAcl: -114,
  authFailed: -115,
  sessionMoved: -118,
  notReadOnly: -119,
  localSession: -120,
  notLoggedIn: -124,
  quota: -125,
  throttled: -127,
} as const;

export type ZooKeeperProblem =
  /** There is no connection: nothing listens there, or no server that is fit to answer. */
  | "unreachable"
  /** TLS where there is none, or none where there is, or a certificate that one side does not accept. */
  | "tls"
  /** A wrong password or a missing right. */
  | "denied"
  | "no-node"
  | "node-exists"
  | "bad-version"
  | "not-empty"
  /** The session is over. */
  | "expired"
  /** The session has gone to another connection. */
  | "moved"
  /** The server is too old, or lacks a part of the protocol. */
  | "unsupported"
  /** The session is known to one server only, and that server may not make it known to all. */
  | "local"
  | "too-large"
  | "full"
  /** The bytes that came are not ZooKeeper's protocol. */
  | "malformed"
  | "other";

export class ZooKeeperError extends Error {
  override readonly name: string = "ZooKeeperError";
  readonly problem: ZooKeeperProblem;
  readonly outcome: "not-applied" | "unknown";

  constructor(problem: ZooKeeperProblem, outcome: "not-applied" | "unknown", message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.problem = problem;
    this.outcome = outcome;
  }
}

/** The answers that a server gives before it has done anything. */
const SAID: ReadonlyMap<number, readonly [ZooKeeperProblem, string]> = new Map([
  [CODE.unimplemented, ["unsupported", "the server does not know this request"]],
  [CODE.badArguments, ["unsupported", "the server does not take these arguments"]],
  [CODE.noNode, ["no-node", "there is no such node"]],
  [CODE.noAuth, ["denied", "no right to do this"]],
  [CODE.badVersion, ["bad-version", "the node has another version"]],
  [CODE.nodeExists, ["node-exists", "there is such a node"]],
  [CODE.notEmpty, ["not-empty", "the node has children"]],
  [CODE.sessionExpired, ["expired", "the session is over"]],
  [CODE.invalidAcl, ["denied", "the access list is not accepted"]],
  [CODE.authFailed, ["denied", "the server does not accept the password"]],
  [CODE.sessionMoved, ["moved", "the session has moved to another server"]],
  [CODE.notReadOnly, ["unreachable", "the server is read-only: it has lost its majority"]],
  [CODE.localSession, ["local", "the server keeps its sessions to itself, and nothing can be bound to them"]],
  [CODE.notLoggedIn, ["denied", "the server serves only clients that have logged in"]],
  [CODE.quota, ["full", "the quota of the path is used up"]],
  [CODE.throttled, ["unreachable", "the server is busy, and refuses requests"]],
]);

export function errorOfCode(code: number, path: string): ZooKeeperError {
  const said = SAID.get(code);
  if (said !== undefined) return new ZooKeeperError(said[0], "not-applied", `${path}: ${said[1]} (${code})`);
  return new ZooKeeperError("other", "unknown", `${path}: ZooKeeper answered with code ${code}`);
}

/** Tells whether `error` is one of ZooKeeper's with this problem. */
export function isProblem(error: unknown, ...problems: readonly ZooKeeperProblem[]): boolean {
  return error instanceof ZooKeeperError && problems.includes(error.problem);
}
