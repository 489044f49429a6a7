// The incidents of test/incidents that a server takes part in, on ZooKeeper. What can happen to an ensemble is in faults.test.ts.
import { incidentsOn } from "../../support/incident-suite.ts";
import { useZooKeeper } from "../../support/real-stores.ts";
import { endedWaiter, stoppedWriter } from "../../support/store-incidents.ts";

incidentsOn(useZooKeeper(), [
  ["phantom-leader: a waiting candidate whose session was ended joins anew, and leads by an entry that is there", endedWaiter],
  ["paused-writer: the write of a leader that was stopped past its ttl is refused", stoppedWriter],
]);
