// A port beside each monitor that speaks as Redis Sentinel does, so that Sentinel-aware clients find the primary and hear of a change. It answers with what the monitor has announced, and changes nothing.
import { createServer, type Server, type Socket } from "node:net";
import { RespReader } from "../clients/redis/resp.ts";
import type { FailoverConfig } from "./config.ts";
import type { Monitor } from "./monitor.ts";
import {
  type SentinelAnswer,
  answerOf,
  encodeAnswer,
  helloOf,
  matches,
  Push,
  type SentinelView,
  StatusReply,
} from "./sentinel-words.ts";

const CONNECTIONS_MAX = 10_000;
const SUBSCRIPTIONS_MAX = 64;
/** A client that reads nothing is disconnected before the messages that wait for it fill the memory. */
const UNREAD_BYTES_MAX = 1024 * 1024;

interface Guest {
  readonly socket: Socket;
  readonly channels: Set<string>;
  readonly patterns: Set<string>;
  protocol: 2 | 3;
}

/** A port that speaks as Redis Sentinel does. */
export class SentinelPort {
  readonly #view: () => SentinelView;
  readonly #server: Server;
  readonly #guests = new Set<Guest>();

  constructor(view: () => SentinelView) {
    this.#view = view;
    this.#server = createServer((socket) => this.#welcome(socket));
    this.#server.maxConnections = CONNECTIONS_MAX;
  }

  /** Resolves with the port. Port 0 takes any free port. */
  listen(port: number, host: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, host, () => {
        const address = this.#server.address();
        resolve(typeof address === "object" && address !== null ? address.port : port);
      });
    });
  }

  publish(channel: string, message: string): void {
    for (const guest of this.#guests) {
      if (guest.channels.has(channel)) this.#say(guest, new Push(["message", channel, message]));
      for (const pattern of guest.patterns)
        if (matches(pattern, channel)) this.#say(guest, new Push(["pmessage", pattern, channel, message]));
    }
  }

  close(): Promise<void> {
    for (const { socket } of this.#guests) socket.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #welcome(socket: Socket): void {
    const guest: Guest = { socket, channels: new Set(), patterns: new Set(), protocol: 2 };
    const reader = new RespReader();
    this.#guests.add(guest);
    socket.setNoDelay(true);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#guests.delete(guest));
    socket.on("data", (piece: Buffer) => {
      try {
        for (const command of reader.push(piece)) if (Array.isArray(command)) this.#hear(guest, command.map(String));
      } catch {
        socket.destroy(); // this client does not speak RESP
      }
    });
  }

  #hear(guest: Guest, words: readonly string[]): void {
    switch ((words[0] ?? "").toUpperCase()) {
      case "HELLO": {
        const { protocol, answer } = helloOf(words);
        guest.protocol = protocol;
        return this.#say(guest, answer);
      }
      case "SUBSCRIBE":
        return this.#subscribe(guest, "subscribe", guest.channels, words.slice(1));
      case "PSUBSCRIBE":
        return this.#subscribe(guest, "psubscribe", guest.patterns, words.slice(1));
      case "UNSUBSCRIBE":
        return this.#unsubscribe(guest, "unsubscribe", guest.channels, words.slice(1));
      case "PUNSUBSCRIBE":
        return this.#unsubscribe(guest, "punsubscribe", guest.patterns, words.slice(1));
      case "QUIT":
        this.#say(guest, new StatusReply("OK"));
        return void guest.socket.end();
      case "PING":
        // A client that speaks RESP 2 and is subscribed gets the answer to a ping as a message.
        if (guest.protocol === 2 && guest.channels.size + guest.patterns.size > 0)
          return this.#say(guest, ["pong", words[1] ?? ""]);
        return this.#say(guest, answerOf(words, this.#view()));
      default:
        return this.#say(guest, answerOf(words, this.#view()));
    }
  }

  #subscribe(guest: Guest, word: string, set: Set<string>, names: readonly string[]): void {
    for (const name of names) {
      if (set.size < SUBSCRIPTIONS_MAX) set.add(name);
      this.#say(guest, new Push([word, name, guest.channels.size + guest.patterns.size]));
    }
  }

  #unsubscribe(guest: Guest, word: string, set: Set<string>, names: readonly string[]): void {
    const meant = names.length === 0 ? [...set] : names;
    for (const name of meant.length === 0 ? [null] : meant) {
      if (name !== null) set.delete(name);
      this.#say(guest, new Push([word, name, guest.channels.size + guest.patterns.size]));
    }
  }

  #say({ socket, protocol }: Guest, answer: SentinelAnswer): void {
    if (socket.writableLength > UNREAD_BYTES_MAX) return void socket.destroy();
    socket.write(encodeAnswer(answer, protocol));
  }
}

/** The view of a monitor that its clients are told. */
export function sentinelViewOf(config: FailoverConfig, monitor: Monitor, self: string): SentinelView {
  const { primary, views, record } = monitor;
  const view = primary === undefined ? undefined : views[primary.name];
  const replicas = Object.values(config.servers)
    .filter(({ name }) => name !== primary?.name)
    .map(({ name, host, port }) => {
      const seen = views[name];
      return { host, port, isUp: seen?.is === "up", isLinked: seen?.is === "up" && seen.isLinked };
    });
  const others = Object.entries(config.ports).filter(([name]) => name !== self);
  return {
    name: config.name,
    monitor: self,
    quorum: config.quorum,
    epoch: record?.epoch ?? 0,
    primary,
    isPrimaryDown: view?.is !== "up",
    replicas,
    others: others.map(([name, { host, port }]) => ({ monitor: name, host, port })),
  };
}
