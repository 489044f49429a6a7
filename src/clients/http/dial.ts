// Opens a socket to one server, plain or with TLS. node:net and node:tls are loaded with the first one, because that takes longer than loading everything else here.
import type { Socket } from "node:net";
import type { ConnectionOptions, SecureContext } from "node:tls";
import { HttpError } from "./errors.ts";

/** Where a server is, and how it is to prove that it is that server. */
export interface HttpPlace {
  readonly isSecure: boolean;
  /** Without brackets. */
  readonly host: string;
  readonly port: number;
  /** The name to find in its certificate, if not the host. */
  readonly servername?: string | undefined;
  /** Its certificate is not verified. */
  readonly skipsVerification: boolean;
}

/** The PEM texts with which connections are made. `ca`: undefined stands for the authorities that Node knows. */
export type HttpTrust = Readonly<Record<"ca" | "cert" | "key", string | undefined>>;

/** A server that is gone without a word is found by probes on an idle connection. */
const PROBE_AFTER_MS = 1_000;
const READ_BYTES = 64 * 1024;

export class HttpDialer {
  readonly place: HttpPlace;
  readonly trust: HttpTrust;
  /** Reading certificates takes longer than a request. */
  #context: SecureContext | undefined;
  /** With it the next handshake is shorter. It was agreed with a server whose certificate was verified by the same trust. */
  #session: Buffer | undefined;

  constructor(place: HttpPlace, trust: HttpTrust) {
    this.place = place;
    this.trust = trust;
  }

  /**
   * A socket that is still connecting. What it reads is handed to `read`, in a buffer that is only lent: the next bytes are read into it. Throws an HttpError if a certificate or key of ours cannot be read.
   */
  dial(read: (bytes: Buffer) => void): Socket {
    const { host, port, isSecure } = this.place;
    // Node would allocate such a buffer for each answer, and pass it through a stream.
    const buffer = Buffer.allocUnsafe(READ_BYTES);
    const callback = (length: number): boolean => {
      read(buffer.subarray(0, length));
      return true; // it reads on
    };
    const settings = { host, port, onread: { buffer, callback } };
    const socket = isSecure ? this.#dialSecurely(settings) : process.getBuiltinModule("node:net").connect(settings);
    socket.setNoDelay(true);
    return socket.setKeepAlive(true, PROBE_AFTER_MS);
  }

  #dialSecurely(settings: ConnectionOptions): Socket {
    const socket = process.getBuiltinModule("node:tls").connect({ ...settings, ...this.#secureSettings() });
    socket.on("session", (session) => (this.#session = session));
    return socket;
  }

  #secureSettings(): ConnectionOptions {
    const { host, servername, skipsVerification } = this.place;
    const { isIP } = process.getBuiltinModule("node:net");
    // An IP address is not a name that a server could be asked for.
    const named = servername ?? (isIP(host) === 0 ? host : undefined);
    return {
      secureContext: (this.#context ??= contextOf(this.trust)),
      rejectUnauthorized: !skipsVerification,
      ALPNProtocols: ["http/1.1"],
      ...(named === undefined ? {} : { servername: named }),
      ...(this.#session === undefined ? {} : { session: this.#session }),
    };
  }
}

function contextOf({ ca, cert, key }: HttpTrust): SecureContext {
  try {
    return process.getBuiltinModule("node:tls").createSecureContext({
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined || key === undefined ? {} : { cert, key }),
    });
  } catch (cause) {
    throw new HttpError("unconnected", (cause as Error).message, cause);
  }
}

/** Calls `then` once the socket can be written to. */
export function whenOpen(socket: Socket, then: () => void): void {
  socket.once("encrypted" in socket ? "secureConnect" : "connect", then);
}
