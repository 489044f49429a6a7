// Hints without a server: a watch that is stopped while it still connects asks the server for nothing afterwards. Such a request would open a connection that nobody ends, and the process could not exit.
import { expect, it } from "vitest";
import type { Listening, RedisPort } from "../../../src/clients/redis/port.ts";
import { Mailbox } from "../../../src/stores/mailbox.ts";
import { RedisWatcher } from "../../../src/stores/redis/watcher.ts";

const NOTHING: Listening = { add: async () => {}, remove: () => {}, stop: () => {} };

/** `connected` ends the connecting that a watch waits for. `looks`: the names of each look. */
function stage(): { watcher: RedisWatcher; connected: (listening: Listening) => void; looks: (readonly string[])[] } {
  let connected!: (listening: Listening) => void;
  const connecting = new Promise<Listening>((resolve) => (connected = resolve));
  const looks: (readonly string[])[] = [];
  const port = { listen: () => connecting } as unknown as RedisPort;
  const look = async (names: readonly string[]): Promise<undefined> => void looks.push(names);
  const watcher = new RedisWatcher({ port, channel: (name) => `channel of ${name}`, keyspace: undefined, look });
  return { watcher, connected, looks };
}

/** A few turns of the loop: whatever was to follow has followed. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

it("a watch that was stopped while it connected looks at nothing", async () => {
  const { watcher, connected, looks } = stage();
  const stop = watcher.add(["a", "b"], new Mailbox(() => {}));
  stop();
  connected(NOTHING);
  await settle();
  expect(looks).toEqual([]);
});

it("of several watches, one that is left still looks, at its own names", async () => {
  const { watcher, connected, looks } = stage();
  const stop = watcher.add(["a"], new Mailbox(() => {}));
  const stopOther = watcher.add(["b"], new Mailbox(() => {}));
  stop();
  connected(NOTHING);
  await settle();
  stopOther();
  expect(looks).toEqual([["b"]]);
});
