// A client of one ensemble: it opens connections for sessions. Servers are tried one after the other, beginning after the one that failed last, until one accepts the session. They are not tried several
// at once, because a session moves to the server that accepted it last.
//
// Opening a connection is no request, so trying many servers is not trying a request twice.
import type { StopSignal } from "../stop-signal.ts";
import type { Endpoint } from "../url-parts.ts";
import type { ZooKeeperAddress } from "./address.ts";
import { ZooKeeperConnection } from "./connection.ts";
import { ZooKeeperError } from "./errors.ts";
import type { Connect, Connected } from "./messages.ts";
import { explained } from "./reasons.ts";
import { askWord } from "./four-letter-words.ts";
import { type Opener, ZooKeeperSession } from "./session.ts";

export class ZooKeeperClient {
  readonly address: ZooKeeperAddress;
  #first: number;

  /** `first`: the server to begin with. Candidates begin at different ones, so that they do not all depend on one. */
  constructor(address: ZooKeeperAddress, first = 0) {
    this.address = address;
    this.#first = first % address.endpoints.length;
  }

  begin(timeoutMs: number, signal: StopSignal): Promise<ZooKeeperSession> {
    return ZooKeeperSession.begin(this.#opener, timeoutMs, signal);
  }

  attach(
    sessionId: bigint,
    password: Buffer,
    timeoutMs: number,
    signal: StopSignal,
  ): Promise<ZooKeeperSession | undefined> {
    return ZooKeeperSession.attach(this.#opener, { sessionId, password, timeoutMs }, signal);
  }

  /** The answer of this server to a four-letter word. Undefined if the word is not allowed, or no answer comes. */
  async word(endpoint: Endpoint, word: "conf" | "srvr", signal: StopSignal): Promise<string | undefined> {
    return await askWord(endpoint, this.address.tls, word, signal);
  }

  readonly #opener: Opener = async (asked, signal) => {
    const { endpoints } = this.address;
    const failed: { readonly endpoint: Endpoint; readonly error: ZooKeeperError }[] = [];
    for (let tried = 0; tried < endpoints.length; tried++) {
      const endpoint = endpoints[this.#first] as Endpoint;
      try {
        return await this.#openAt(endpoint, asked, signal);
      } catch (error) {
        failed.push({ endpoint, error: error as ZooKeeperError });
        this.#first = (this.#first + 1) % endpoints.length;
        if (signal.aborted) break;
      }
    }
    // They are asked for their reasons only now, so that this delays no server that would accept the session.
    const { tls } = this.address;
    throw allFailed(await Promise.all(failed.map(({ endpoint, error }) => explained(endpoint, tls, error, signal))));
  };

  async #openAt(
    endpoint: Endpoint,
    asked: Connect,
    signal: StopSignal,
  ): Promise<{ readonly connection: ZooKeeperConnection; readonly connected: Connected }> {
    const opened = await ZooKeeperConnection.open(endpoint, this.address, asked, signal);
    // The next opening begins at another server, because this server may be the reason for the loss.
    const next = this.#first;
    opened.connection.listen(
      () => {},
      () => {
        if (this.#first === next) this.#first = (next + 1) % this.address.endpoints.length;
      },
    );
    return opened;
  }
}

/** A failure that waiting can mend outweighs one that it cannot: another server may be well tomorrow. */
function allFailed(errors: readonly ZooKeeperError[]): ZooKeeperError {
  const passing = errors.find(({ problem }) => problem === "unreachable");
  const problem = passing?.problem ?? errors[0]?.problem ?? "unreachable";
  const messages = errors.map(({ message }) => message);
  return new ZooKeeperError(problem, "not-applied", messages.join("; "), errors[0]?.cause);
}
