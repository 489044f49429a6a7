// The incidents of test/incidents that a server takes part in, on Redis. What it does not promise (a promoted replica, a server whose clock is set or that forgets) is in problems.test.ts.
import { incidentsOn } from "../../support/incident-suite.ts";
import { useRedis } from "../../support/real-stores.ts";
import { endedWaiter } from "../../support/store-incidents.ts";

incidentsOn(useRedis(), [
  ["phantom-leader: a waiting candidate whose session was deleted leads by another one that is there", endedWaiter],
]);
