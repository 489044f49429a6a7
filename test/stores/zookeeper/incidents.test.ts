// The incidents of test/incidents that a server takes part in, on ZooKeeper. What can happen to an ensemble is in faults.test.ts; what each rests on, in docs/INCIDENTS.md.
// Taken out (black-hole): test/mutants/zookeeper-onlooker-beats-slowly.patch
// Taken out (early-release): test/defences/early-release.patch
// Taken out (hung-renewal): test/mutants/signal-at-deadline.patch
// Taken out (in-process-twins): test/defences/in-process-twins.patch
// Taken out (late-commit): test/defences/late-commit-zookeeper.patch
// Taken out (middle-candidate-dies): test/defences/middle-candidate-dies-zookeeper.patch
// Taken out (no-second-campaign): test/mutants/no-second-campaign.patch
// Taken out (paused-writer): test/defences/paused-writer.patch
// Taken out (phantom-leader): test/defences/phantom-leader-claims.patch
// Taken out (record-deleted): test/defences/record-deleted-zookeeper.patch
// Taken out (release-unknown): test/mutants/held-until-release-ack.patch
// Taken out (restored-backup): test/defences/restored-backup-any.patch
// Taken out (shared-identity): test/defences/shared-identity.patch
// Taken out (store-outage): test/defences/store-outage.patch
// Taken out (wall-clock-jump): test/defences/wall-clock-jump.patch
import { afterAll, expect, it } from "vitest";
import { zookeeper } from "conclave/stores/zookeeper";
import path from "node:path";
import { privateFolder } from "../../../scripts/servers/process.mjs";
import * as server from "../../../scripts/servers/zookeeper.mjs";
import { incidentsOn } from "../../support/incident-suite.ts";
import { useZooKeeper } from "../../support/real-stores.ts";
import { useServers } from "../../support/servers.ts";
import { inFolder, restoredBackup } from "../../support/restored-backup.ts";
import { endedWaiter, middleGoes, stoppedWriter } from "../../support/store-incidents.ts";
import { urlOf } from "./zookeeper.ts";

incidentsOn(useZooKeeper(), [
  [
    "phantom-leader: a waiting candidate whose session was ended joins anew, and leads by an entry that is there",
    endedWaiter,
  ],
  ["middle-candidate-dies: only the first of the line leads", middleGoes],
  ["paused-writer: the write of a leader that was stopped past its ttl is refused", stoppedWriter],
]);

const own = privateFolder("zookeeper-restored");
afterAll(() => own.remove());
const restored = useServers(server, { folder: own.folder });

it("restored-backup: a server that is put back grants a number again, and the ledger refuses it until the counter has passed", async () => {
  const [node] = restored().nodes;
  if (node === undefined) throw new Error("no server");
  const place = inFolder(
    () => node,
    path.join(own.folder, "n0/version-2"),
    () => zookeeper(urlOf(restored())),
  );
  await restoredBackup(place, expect);
}, 60_000);
