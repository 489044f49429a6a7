// A migration that one of several starting replicas runs. Both are given back at the end of the scope, also when `migrate` throws: first the
// term, then the election. Whether there is still something to migrate is for `migrate` to find out.
// Needs Node 22.13 or `npm install libsql`; TypeScript 5.2 or later, or Node 24 in plain JavaScript.
import { elect } from "conclave";
import { sqlite } from "conclave/stores/sqlite";

declare function migrate(options: { signal: AbortSignal }): Promise<void>;

await using election = elect("migrate", { store: sqlite() });
await using term = await election.campaign({ signal: AbortSignal.timeout(60_000) });
await migrate({ signal: term.signal });
