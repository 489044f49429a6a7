// The incidents of test/incidents that a server takes part in, on a table of DynamoDB: what each rests on is in docs/INCIDENTS.md. A table that is throttled is in steps.test.ts.
// Taken out (black-hole): test/mutants/dynamodb-idle-undoubted.patch
// Taken out (early-release): test/defences/early-release.patch
// Taken out (hung-renewal): test/mutants/signal-at-deadline.patch
// Taken out (in-process-twins): test/defences/in-process-twins.patch
// Taken out (late-commit): test/defences/late-commit.patch
// Taken out (no-second-campaign): test/mutants/no-second-campaign.patch
// Taken out (paused-writer): test/defences/paused-writer.patch
// Taken out (phantom-leader): test/defences/phantom-leader-claims.patch
// Taken out (record-deleted): test/mutants/dynamodb-lost-unseen.patch
// Taken out (release-unknown): test/mutants/held-until-release-ack.patch
// Taken out (restored-backup): test/defences/store-moved.patch
// Taken out (shared-identity): test/defences/shared-identity.patch
// Taken out (store-outage): test/defences/store-outage.patch
// Taken out (wall-clock-jump): test/defences/wall-clock-jump.patch
import { PutItemCommand, ScanCommand } from "@aws-sdk/client-dynamodb";
import { expect, it } from "vitest";
import { elect } from "conclave";
import { memoryFence } from "conclave/fencing";
import { dynamodb } from "conclave/stores/dynamodb";
import * as server from "../../../scripts/servers/dynamodb.mjs";
import { incidentsOn } from "../../support/incident-suite.ts";
import { useDynamoDB } from "../../support/real-stores.ts";
import { endedWaiter, stoppedWriter } from "../../support/store-incidents.ts";

const store = useDynamoDB();

incidentsOn(store, [
  ["phantom-leader: a waiting candidate whose session was deleted leads by another one that is there", endedWaiter],
  ["paused-writer: the write of a leader that was stopped past its ttl is refused", stoppedWriter],
]);

it("restored-backup: a table is restored under another name and id, and its tokens are refused until they are adopted", async () => {
  const at = store.server();
  const ledger = memoryFence();
  const leadOnce = async (table: string): Promise<{ domain: string; fate: string }> => {
    const opened = dynamodb(server.urlOf(at, table));
    const led = await elect("restored", { store: opened, ttlMs: 2000 }).lead(async (term) => {
      const fate = await ledger.raise("ledger", term).then(
        () => "written",
        ({ code }: { readonly code: string }) => code,
      );
      return { domain: term.token.domain, fate };
    });
    await opened.close();
    return led ?? { domain: "", fate: "never led" };
  };
  const first = await leadOnce(server.TABLE);
  expect(first.fate).toBe("written");
  await restore("restored");
  expect((await leadOnce(server.TABLE)).fate).toBe("written");
  const again = await leadOnce("restored");
  expect(again.fate).toBe("TOKEN_FOREIGN");
  ledger.adopt("ledger", { from: first.domain, to: again.domain });
  expect((await leadOnce("restored")).fate).toBe("written");
  expect((await leadOnce(server.TABLE)).fate).toBe("TOKEN_FOREIGN");

  /** As AWS does it: into a new table, which has an id of its own. */
  async function restore(table: string): Promise<void> {
    await server.makeTable(at, table);
    const hand = server.clientOf(at);
    const { Items: items = [] } = await hand.send(new ScanCommand({ TableName: server.TABLE, ConsistentRead: true }));
    for (const item of items) await hand.send(new PutItemCommand({ TableName: table, Item: item }));
    hand.destroy();
  }
});
