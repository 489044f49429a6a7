// Leaving in order, beside an HTTP server: on SIGTERM the term's signal aborts, the work stops, the seat is given back, and only then does `lead`
// resolve. Work that does not stop in time ends the process (`onOverstay: "exit"`), because another process may lead by then.
// Needs an etcd.
import { createServer } from "node:http";
import { elect, shutdownSignal } from "conclave";
import { etcd } from "conclave/stores/etcd";

declare function work(signal: AbortSignal): Promise<void>;

const server = createServer().listen(3000);
const election = elect("worker", { store: etcd("etcd://127.0.0.1:2379"), drainMs: 2_000, onOverstay: "exit" });
try {
  // Rejects only with an error of the work's own; that it stops by throwing `signal.reason` is not one.
  await election.lead((term) => work(term.signal), { signal: shutdownSignal() });
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  server.close();
  await election.close();
}
