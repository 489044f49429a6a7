// Compare-and-swap on a map: the port of `memory:?layout=swap`. It proves the recipe of src/stores/swap by the conformance suite, without a server.
// A request is applied in a job of its own, so that requests of several candidates come between each other as they do on a network.
import { unknown } from "../../base/outcome.ts";
import type { Call } from "../contract.ts";
import type { StampedText, Found, Listed, Swapped, SwapPort } from "../swap/port.ts";

export class MemoryPort implements SwapPort {
  readonly #entries = new Map<string, StampedText>();
  #writes = 0;

  async read(keys: readonly string[], { signal }: Call): Promise<Found> {
    await Promise.resolve();
    if (signal.aborted) return unknown(signal.reason);
    return { kind: "found", entries: keys.map((key) => this.#entries.get(key)) };
  }

  async swap(key: string, over: string | undefined, text: string, { signal }: Call): Promise<Swapped> {
    await Promise.resolve();
    if (signal.aborted) return unknown(signal.reason);
    if (this.#entries.get(key)?.stamp !== over) return { kind: "conflict" };
    const stamp = `${++this.#writes}`;
    this.#entries.set(key, { key, text, stamp });
    return { kind: "swapped", stamp };
  }

  async list(prefix: string, { signal }: Call): Promise<Listed> {
    await Promise.resolve();
    if (signal.aborted) return unknown(signal.reason);
    return { kind: "listed", entries: [...this.#entries.values()].filter(({ key }) => key.startsWith(prefix)) };
  }

  async close(): Promise<void> {}
}
