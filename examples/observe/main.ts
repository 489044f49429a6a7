// Followers send writes on to the leader, whose address they learn from the store. What they learn is a hint: it may be out of date, so the
// process that gets the write asks its own `election.term()` before it accepts.
// Needs an etcd.
import { elect, type Leader, shutdownSignal } from "conclave";
import { etcd } from "conclave/stores/etcd";

const election = elect("primary", { store: etcd("etcd://127.0.0.1:2379") });
let leader: Leader | undefined;

election
  .lead(async (term) => {
    await term.announce("http://127.0.0.1:3000");
    await term.ended;
  })
  .catch((error: unknown) => console.error(error));

/** Where to send a write; `undefined`: here, or nobody leads. */
export const forwardTo = (): string | undefined => (election.term() ? undefined : leader?.value);

for await (leader of election.observe({ signal: shutdownSignal() })) console.log(leader?.value ?? "nobody leads");
await election.close();
