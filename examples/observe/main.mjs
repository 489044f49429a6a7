// Followers send writes on to the leader, whose address they learn from the store. What they learn is a hint: it may be out of date, so the process that gets the write
// asks its own election before it accepts.
//
//   npm run build && node examples/observe/main.mjs
import { elect, openStore, requireFenced, shutdownSignal } from "conclave";

const store = await openStore(process.env["CONCLAVE_STORE"] ?? "memory:");
requireFenced(store);
const address = process.env["ADDRESS"] ?? "http://127.0.0.1:3000";
const signal = shutdownSignal({ exitWithinMs: 8_000 });
const election = elect("primary", { store, logger: { ...console, info() {}, debug() {} } });
/** @type {import("conclave").Leader | undefined} */
let leader;

const leading = election.lead(
  async (term) => {
    await term.announce(address);
    await term.ended;
  },
  { signal },
);

/** Where to send a write; `undefined`: here, or nobody leads. */
export const forwardTo = () => (election.isLeading() ? undefined : leader?.value);

for await (leader of election.observe({ signal })) console.log(leader?.value ?? "nobody leads, or has not said where");
await leading;
await election.close();
