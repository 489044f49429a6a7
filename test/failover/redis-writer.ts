// A client of a trio of Redis, as users have it: it finds the primary through the monitors, writes one number after the other, and remembers those that it was told are written.
import { Redis } from "ioredis";
import { nowMs, sleep } from "../support/processes.ts";
import type { Trio } from "./trio.ts";

export class RedisWriter {
  readonly acknowledged: string[] = [];
  readonly #trio: Trio;
  readonly #prefix: string;
  readonly #client: Redis;
  readonly #done: Promise<void>;
  #isOn = true;

  constructor(trio: Trio, prefix: string) {
    this.#trio = trio;
    this.#prefix = prefix;
    this.#client = new Redis({
      sentinels: [...trio.sentinels.values()].map((port) => ({ host: "127.0.0.1", port })),
      name: "orders",
      failoverDetector: true,
      maxRetriesPerRequest: 0,
      sentinelRetryStrategy: () => 50,
      retryStrategy: () => 50,
      commandTimeout: 1000,
    });
    this.#client.on("error", () => {});
    this.#done = this.#write();
  }

  async #write(): Promise<void> {
    let n = 0;
    while (this.#isOn) {
      const key = `${this.#prefix}:${++n}`;
      try {
        await this.#client.set(key, "1");
        this.acknowledged.push(key);
      } catch {
        // It gives up for good if it hears of a switch while it asks a monitor.
        if (this.#client.status === "end") await this.#client.connect().catch(() => {});
        await sleep(20);
      }
      await sleep(2);
    }
  }

  /** Until it was told of another write. */
  async again(withinMs = 20_000): Promise<void> {
    const before = this.acknowledged.length;
    for (const untilMs = nowMs() + withinMs; this.acknowledged.length === before; await sleep(10))
      if (nowMs() > untilMs) throw new Error(`no write was acknowledged\n${await this.#trio.story()}`);
  }

  async stop(): Promise<void> {
    this.#isOn = false;
    await this.#done;
    this.#client.disconnect();
  }

  /** Of those that were acknowledged, how many this server does not have. */
  async lost(name: string): Promise<number> {
    const client = new Redis({ port: this.#trio.ports.get(name) ?? 0, host: "127.0.0.1" });
    const found = await Promise.all(this.acknowledged.map((key) => client.exists(key)));
    client.disconnect();
    return found.filter((count) => count === 0).length;
  }
}
