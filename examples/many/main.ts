// Ten thousand elections in one process: one candidate, one session, one renewal for all. It is also one blast radius: if that session fails, all
// its terms end together.
// Needs an etcd.
import { createCandidate, shutdownSignal } from "conclave";
import { etcd } from "conclave/stores/etcd";

declare const tenants: readonly string[];
declare function sync(tenant: string, signal: AbortSignal): Promise<void>;

await using candidate = createCandidate({
  store: etcd(["etcd://10.0.0.1:2379", "etcd://10.0.0.2:2379"]),
  ttlMs: 10_000,
});
const signal = shutdownSignal();
await Promise.all(
  tenants.map((tenant) => candidate.election(`tenant/${tenant}`).lead((term) => sync(tenant, term.signal), { signal })),
);
