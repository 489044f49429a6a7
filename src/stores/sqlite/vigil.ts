// A connection to the process of one holder, kept for as long as somebody waits for that holder. It reports news, and the death of the process.
// An end of file alone is no death, because the beacon may have been put out: the socket is asked again, and only a refusal counts (probe.ts). A listener that is
// turned away because enough others listen (audience.ts) asks again when it was told to, and finds a death in the same way.
import { randomInt } from "node:crypto";
import { connect, type Socket } from "node:net";
import type { Name } from "../contract.ts";
import { joins, leaves } from "./audience.ts";
import type { SocketFile } from "./place.ts";
import { type Life, meaningOf } from "./probe.ts";

/** unsure: the connection has ended, which proves nothing; it is made again if possible. */
export type News = "change" | "dead" | "unsure";

/** This many waiters may hear of a change at once; beyond that each has its turn. */
const NO_HERD = 10;
/** The processor time that one waiter needs to hear that the leader has left and to find out which one follows. */
const MS_PER_WAITER = 2;
const LONGEST_PAUSE_MS = 2000;

/** If so many waiters are about to connect that the kernel takes no more, each tries again within this time. */
const AGAIN_WITHIN_MS = 2000;

function isCrowd(failed: NodeJS.ErrnoException | undefined): boolean {
  return failed?.code === "EAGAIN";
}

export class Vigil {
  /** The names that the holder's process holds and that somebody here waits for. */
  readonly names: Set<Name> = new Set<Name>();
  readonly #socket: SocketFile;
  readonly #hear: (news: News) => void;
  #connection: Socket | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** alive: connected, or turned away by a process that lives. unknown: not connected, which proves nothing. */
  #life: Life = "unknown";
  /** How many waiters hear the same, as the holder said last. */
  #told = 0;
  #isOver = false;

  constructor(socket: SocketFile, name: Name, hear: (news: News) => void) {
    this.#socket = socket;
    this.#hear = hear;
    this.names.add(name);
    this.renew();
  }

  get life(): Life {
    return this.#life;
  }

  /** If there are many waiters, each has its turn within this time: the first is about as quick as a single one would be, and the last finds that the first is elected. */
  get pauseMs(): number {
    const herd = this.#told - NO_HERD;
    return herd <= 0 ? 0 : randomInt(Math.min(LONGEST_PAUSE_MS, herd * MS_PER_WAITER) + 1);
  }

  add(name: Name): void {
    this.names.add(name);
    this.#connection?.write(joins(name));
  }

  remove(name: Name): void {
    this.names.delete(name);
    this.#connection?.write(leaves(name));
  }

  /** Tries again where the last try proved nothing. */
  renew(): void {
    if (this.#connection !== undefined || this.#timer !== undefined || this.#life === "dead" || this.#isOver) return;
    const connection = connect(this.#socket.path).unref().setEncoding("utf8");
    this.#connection = connection;
    let isConnected = false;
    let failed: Error | undefined;
    connection.on("connect", () => {
      isConnected = true;
      this.#life = "alive";
      connection.write([...this.names].map(joins).join(""));
    });
    connection.on("data", (text) => {
      if (this.#connection === connection) this.#isTold(String(text));
    });
    connection.on("error", (error) => (failed = error));
    connection.on("close", () => {
      if (this.#connection === connection) this.#ended(isConnected, failed);
    });
  }

  #isTold(text: string): void {
    const comeBackMs = /full (\d+)\n$/.exec(text)?.[1];
    if (comeBackMs !== undefined) return this.#standBack(Number(comeBackMs));
    this.#told = Number(/(\d+)\n$/.exec(text)?.[1] ?? 0);
    this.#hear("change");
  }

  /** The holder lives and wants no more listeners, or so many are about to connect that the kernel takes no more. */
  #standBack(ms: number): void {
    this.#life = "alive";
    this.#hangUp();
    this.#renewIn(ms);
  }

  #ended(wasConnected: boolean, failed: Error | undefined): void {
    if (!wasConnected && isCrowd(failed)) return this.#standBack(1 + randomInt(AGAIN_WITHIN_MS));
    this.#connection = undefined;
    this.#life = wasConnected || failed === undefined ? "unknown" : meaningOf(failed, this.#socket);
    if (this.#life === "dead") return this.#hear("dead");
    if (!wasConnected) return;
    this.#renewIn(this.pauseMs);
    this.#hear("unsure");
  }

  #renewIn(ms: number): void {
    if (ms === 0) return this.renew();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.renew();
    }, ms).unref();
  }

  #hangUp(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.destroy();
  }

  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#hangUp();
  }
}
