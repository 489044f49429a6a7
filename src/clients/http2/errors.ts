// Why a stream or a connection of HTTP/2 ends before its time.

/** Why a stream or a connection has ended (section 7). */
export const CODE = {
  none: 0,
  protocol: 1,
  flowControl: 3,
  frameSize: 6,
  refused: 7,
  cancel: 8,
  compression: 9,
  calm: 11,
} as const;

/** The other side has sent what the protocol does not allow. */
export class Http2Error extends Error {
  override readonly name: string = "Http2Error";
  /** As Node's own errors of HTTP/2 begin, by which the reason of a failed connection is found (connect-reasons.ts). */
  readonly code: string = "ERR_HTTP2";
  readonly reason: number;

  constructor(reason: number, message: string) {
    super(message);
    this.reason = reason;
  }
}
