// Incidents of test/incidents on Leases, beside those that run there on every store (useRealStores): what each rests on is in docs/INCIDENTS.md. Deleted and replaced Leases by themselves are in
// rules.test.ts, watches that go silent or are forgotten in faults.test.ts.
// Taken out (paused-writer): test/defences/paused-writer.patch
// Taken out (record-deleted): test/defences/record-deleted-kubernetes.patch
// Taken out (restored-backup): test/defences/restored-backup-any.patch
import { afterAll, describe, expect, it } from "vitest";
import { kubernetes } from "conclave/stores/kubernetes";
import * as server from "../../../scripts/servers/kubernetes.mjs";
import { privateFolder } from "../../../scripts/servers/process.mjs";
import { useKubernetes } from "../../support/real-stores.ts";
import { useServers } from "../../support/servers.ts";
import { inFolder, restoredBackup } from "../../support/restored-backup.ts";
import { deletedRecord, stoppedWriter } from "../../support/store-incidents.ts";

const store = useKubernetes();

describe.concurrent("while the server runs", { timeout: 60_000 }, () => {
  it("record-deleted: the holder of a Lease that is deleted loses its term with its next renewal", ({ expect }) =>
    deletedRecord(store, expect));

  it("paused-writer: the write of a leader that was stopped past its ttl is refused", ({ expect }) =>
    stoppedWriter(store, expect));
});

const own = privateFolder("kubernetes-restored");
afterAll(() => own.remove());
const restored = useServers(server, { folder: own.folder }) as () => server.Started;

it("restored-backup: a server that is put back grants a number again, and the ledger refuses it until the counter has passed", async () => {
  const [node] = restored().nodes;
  if (node === undefined) throw new Error("no server");
  const place = inFolder(
    () => node,
    restored().data,
    () => kubernetes(restored().urls[0] ?? ""),
  );
  // A real API server writes things of its own when it starts, so that its counter would soon have passed: more is lost with the backup, and is written again later.
  let opened = 0;
  let isRestored = false;
  const busy = {
    open: async () => {
      if (isRestored && ++opened === 2) await writeOthers("later");
      return place.open();
    },
    backUp: async () => {
      await place.backUp();
      await writeOthers("lost");
    },
    restore: async () => {
      await place.restore();
      isRestored = true;
    },
  };
  await restoredBackup(busy, expect);
}, 60_000);

const OTHERS = 200;

async function writeOthers(label: string): Promise<void> {
  const leases = `${restored().server}/apis/coordination.k8s.io/v1/namespaces/${server.NAMESPACE}/leases`;
  for (let count = 0; count < OTHERS; count++) {
    const body = JSON.stringify({ metadata: { name: `${label}-${count}` }, spec: {} });
    const { status } = await fetch(leases, { method: "POST", headers: { "content-type": "application/json" }, body });
    if (status !== 201) throw new Error(`not written: ${status}`);
  }
}
