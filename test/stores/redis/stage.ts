// What tests of Redis share: a URL of several servers, commands by hand as an operator would send them, and a server whose wall clock can be set.
import { writeFileSync } from "node:fs";
import path from "node:path";
import { Redis } from "ioredis";
import { asBid, type Store, VACANT } from "conclave/stores/contract";
import * as server from "../../../scripts/servers/redis.mjs";
import { privateFolder } from "../../../scripts/servers/process.mjs";
import { faketimeLibrary } from "../../support/faketime.ts";
import type { Servers } from "../../support/servers.ts";
import { call, open } from "../moves.ts";

export function severalUrl({ urls }: Pick<Servers, "urls">): string {
  return `redis://${urls.map((url) => new URL(url).host).join(",")}`;
}

/** Sends one command on a connection of its own. */
export async function byHand(url: string, command: string, ...args: readonly string[]): Promise<unknown> {
  const client = new Redis(url, { lazyConnect: true });
  client.on("error", () => {});
  try {
    await client.connect();
    return await client.call(command, ...args);
  } finally {
    client.disconnect();
  }
}

/** Redis 6.0 has rights to keys and commands, and none to channels. */
export async function hasChannelRights(url: string): Promise<boolean> {
  return !/^redis_version:6\.0\./m.test(String(await byHand(url, "INFO", "server")));
}

let tries = 0;

/** Servers that were just started vote for nobody. */
export async function untilItVotes(store: Store): Promise<void> {
  const session = await open(store, 5000);
  for (;;) {
    const claim = { session, name: `vote ${++tries}`, bid: asBid(`vote.${tries}`), over: VACANT, value: "" };
    const [claimed] = await store.claim([claim], call());
    if (claimed?.kind === "granted") break;
    await new Promise((resolve) => setTimeout(resolve, 100));
    await store.keep(session, [], call());
  }
  await store.release({ session, holds: [], endSession: true }, call());
}

export interface Clockwork {
  readonly servers: Servers;
  /** Sets the server's wall clock so many seconds ahead of ours; its monotonic clock goes on as ever. */
  setAhead(seconds: number): void;
  stop(): Promise<void>;
}

/** libfaketime and jemalloc call each other before either is ready, so that redis-server gets the C library's allocator first. */
export async function startWithClock(ahead = 0): Promise<Clockwork> {
  const own = privateFolder("redis-clock");
  const file = path.join(own.folder, "ahead");
  const setAhead = (seconds: number): void => writeFileSync(file, `+${seconds}`);
  setAhead(ahead);
  const servers = await server.start({
    env: {
      LD_PRELOAD: `${faketimeLibrary()}:libc.so.6`,
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      FAKETIME_NO_CACHE: "1",
      FAKETIME_TIMESTAMP_FILE: file,
    },
  });
  return {
    servers,
    setAhead,
    stop: async () => {
      await servers.stop();
      own.remove();
    },
  };
}
