// The incidents of test/incidents that a server takes part in, on a table of DynamoDB.
import { incidentsOn } from "../../support/incident-suite.ts";
import { useDynamoDB } from "../../support/real-stores.ts";
import { endedWaiter, stoppedWriter } from "../../support/store-incidents.ts";

incidentsOn(useDynamoDB(), [
  ["phantom-leader: a waiting candidate whose session was deleted leads by another one that is there", endedWaiter],
  ["paused-writer: the write of a leader that was stopped past its ttl is refused", stoppedWriter],
]);
