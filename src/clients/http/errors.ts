// What can go wrong with one request over HTTP, and what that says about the request. `unsendable` and `unconnected`: nothing of it has left. `unanswered` and `malformed`: it was written to a connection
// that was open, so that the server may have carried it out.

export type HttpProblem =
  /** It cannot be written as a request: a name, a path or a value has a character that HTTP does not allow there. */
  | "unsendable"
  /** There is no connection. The cause is Node's error. */
  | "unconnected"
  /** It was given up while it waited for a connection. */
  | "unsent"
  /** The connection ended, or the request was given up, before the whole answer had come. */
  | "unanswered"
  /** What came is no answer of HTTP/1.1, or more than one. */
  | "malformed";

export class HttpError extends Error {
  override readonly name: string = "HttpError";
  readonly problem: HttpProblem;

  constructor(problem: HttpProblem, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.problem = problem;
  }
}

export function malformed(what: string): HttpError {
  return new HttpError("malformed", what);
}
