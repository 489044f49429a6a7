// A client of a trio of Redis, as users have it: it finds the primary through the monitors, writes one number after the other, and remembers those that it was told are written.
import { Redis } from "ioredis";
import { nowMs, sleep } from "../support/processes.ts";
import type { Trio } from "./trio.ts";

/** What a writer asks of a client. */
export interface WritingClient {
  set(key: string, value: string): Promise<unknown>;
  /** Of ioredis. */
  readonly status?: string;
  connect?(): Promise<unknown>;
}

/** The monitors, as clients ask for sentinels. */
export function sentinelsOf(trio: Trio): { host: string; port: number }[] {
  return [...trio.sentinels.values()].map((port) => ({ host: "127.0.0.1", port }));
}

/** A client of ioredis that follows the primary. Both versions take these options. */
export function followingOptions(trio: Trio) {
  return {
    sentinels: sentinelsOf(trio),
    name: "orders",
    failoverDetector: true,
    maxRetriesPerRequest: 0,
    sentinelRetryStrategy: () => 50,
    retryStrategy: () => 50,
    commandTimeout: 1000,
  };
}

export class RedisWriter {
  readonly acknowledged: string[] = [];
  readonly #trio: Trio;
  readonly #prefix: string;
  readonly #client: WritingClient;
  readonly #done: Promise<void>;
  #isOn = true;
  #end: () => void = () => {};

  /** A client that is passed is not ended by `stop`. */
  constructor(trio: Trio, prefix: string, client?: WritingClient) {
    this.#trio = trio;
    this.#prefix = prefix;
    this.#client = client ?? this.#own();
    this.#done = this.#write();
  }

  #own(): Redis {
    const client = new Redis(followingOptions(this.#trio));
    client.on("error", () => {});
    this.#end = () => client.disconnect();
    return client;
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
        if (this.#client.status === "end") await this.#client.connect?.().catch(() => {});
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
    this.#end();
  }

  /** Of those that were acknowledged, how many this server does not have. */
  async lost(name: string): Promise<number> {
    const client = new Redis({ port: this.#trio.ports.get(name) ?? 0, host: "127.0.0.1" });
    const found = await Promise.all(this.acknowledged.map((key) => client.exists(key)));
    client.disconnect();
    return found.filter((count) => count === 0).length;
  }
}
