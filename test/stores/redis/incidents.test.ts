// The incidents of test/incidents that a server takes part in, on Redis. What it does not promise (a promoted replica, a server whose clock is set or that forgets) is in problems.test.ts.
// Taken out (black-hole): test/mutants/redis-connecting-without-end.patch
// Taken out (early-release): test/defences/early-release.patch
// Taken out (hung-renewal): test/mutants/signal-at-deadline.patch
// Taken out (in-process-twins): test/defences/in-process-twins.patch
// Taken out (late-commit): test/defences/late-commit.patch
// Taken out (no-second-campaign): test/mutants/no-second-campaign.patch
// Taken out (phantom-leader): test/defences/phantom-leader-claims.patch
// Taken out (record-deleted): test/defences/record-deleted-redis.patch
// Taken out (release-unknown): test/mutants/held-until-release-ack.patch
// Taken out (shared-identity): test/defences/shared-identity.patch
// Taken out (store-outage): test/defences/store-outage.patch
// Taken out (wall-clock-jump): test/defences/wall-clock-jump.patch
import { incidentsOn } from "../../support/incident-suite.ts";
import { useRedis } from "../../support/real-stores.ts";
import { endedWaiter } from "../../support/store-incidents.ts";

incidentsOn(useRedis(), [
  ["phantom-leader: a waiting candidate whose session was deleted leads by another one that is there", endedWaiter],
]);
