// Incidents of test/incidents on Leases, beside those that run there on every store (useRealStores): what each rests on is in docs/INCIDENTS.md. Deleted and replaced Leases by themselves are in
// rules.test.ts, watches that go silent or are forgotten in faults.test.ts.
// Taken out (paused-writer): test/defences/paused-writer.patch
// Taken out (record-deleted): test/defences/record-deleted-kubernetes.patch
// Taken out (restored-backup): test/defences/restored-backup-any.patch
import { afterAll, describe, expect, it } from "vitest";
import { kubernetes } from "conclave/stores/kubernetes";
import path from "node:path";
import * as server from "../../../scripts/servers/kubernetes.mjs";
import { privateFolder } from "../../../scripts/servers/process.mjs";
import { useKubernetes } from "../../support/real-stores.ts";
import { useServers } from "../../support/servers.ts";
import { deletedRecord, inFolder, restoredBackup, stoppedWriter } from "../../support/store-incidents.ts";

const store = useKubernetes();

describe.concurrent("while the server runs", { timeout: 60_000 }, () => {
  it("record-deleted: the holder of a Lease that is deleted loses its term with its next renewal", ({ expect }) =>
    deletedRecord(store, expect));

  it("paused-writer: the write of a leader that was stopped past its ttl is refused", ({ expect }) =>
    stoppedWriter(store, expect));
});

const own = privateFolder("kubernetes-restored");
afterAll(() => own.remove());
const restored = useServers(server, { folder: own.folder });

it("restored-backup: a server that is put back grants a number again, and the ledger refuses it until the counter has passed", async () => {
  const [node] = restored().nodes;
  if (node === undefined) throw new Error("no server");
  const place = inFolder(
    () => node,
    path.join(own.folder, "leases.jsonl"),
    () => kubernetes(restored().urls[0] ?? ""),
  );
  await restoredBackup(place, expect);
}, 60_000);
