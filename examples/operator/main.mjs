// Something that is started and stopped, such as the controller of an operator: it runs in the process that leads, and has stopped before another process starts its own.
//
//   npm run build && node examples/operator/main.mjs
import { elect, openStore, requireFenced, shutdownSignal } from "conclave";

class Controller {
  async start() {
    console.log("the controller has started");
  }

  async stop() {
    console.log("the controller has stopped");
  }
}

const store = await openStore(process.env["CONCLAVE_STORE"] ?? "memory:");
requireFenced(store);
const election = elect("widget-operator", {
  store,
  id: process.env["POD_NAME"],
  drainMs: 2_000,
  logger: { ...console, info() {}, debug() {} },
});
await election.lead(
  async (term) => {
    const controller = new Controller();
    await controller.start();
    await term.ended; // settles drainMs before the deadline, or when this process is told to stop
    await controller.stop(); // the seat is given back only after this
  },
  { signal: shutdownSignal({ exitWithinMs: 8_000 }) },
);
