// Hints without a server: a watch that is stopped while it still connects asks the database for nothing afterwards. Such a request would open a connection again, after the store was closed.
import { expect, it } from "vitest";
import type { Database, NotificationEars } from "../../../src/clients/postgres/database.ts";
import { Mailbox } from "../../../src/stores/mailbox.ts";
import { PostgresWatcher } from "../../../src/stores/postgres/watcher.ts";

it.each([
  [true, "a watch that was stopped while it connected sends no word to itself", 0],
  [false, "a watch that goes on sends a word to itself, to learn whether it hears", 1],
])("stopped: %s: %s", (isStopped, _, words) => {
  const said: string[] = [];
  let ears: NotificationEars | undefined;
  const database: Database = {
    call: async () => undefined,
    run: async (text) => void said.push(text),
    listen: async (_channel, given) => {
      ears = given;
      return () => {};
    },
    doubt: () => {},
    close: async () => {},
  };
  const watcher = new PostgresWatcher({ database, channel: "conclave", look: async () => undefined });
  const stop = watcher.add([{ name: "a" }], new Mailbox(() => {}));
  if (isStopped) stop();
  ears?.listening();
  stop();
  expect(said).toHaveLength(words);
});
