// Something that is started and stopped, such as the controller of an operator: it runs in the process that leads, and has stopped before another process starts its own.
// In a cluster: deployment.yaml beside this file, with CONCLAVE_STORE=kubernetes://NAMESPACE. With PORT it answers the probes of the kubelet.
//
//   npm run build && node examples/operator/main.mjs
import { createServer } from "node:http";
import { elect, openStore, requireFenced, shutdownSignal } from "conclave";
import { healthHandler, watchHealth } from "conclave/health";

/** From the end of `term.signal` to the deadline: so long the controller may take to stop. */
const DRAIN_MS = 2_000;
/** Everything together; the pod's terminationGracePeriodSeconds is longer. */
const EXIT_WITHIN_MS = 8_000;

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
  drainMs: DRAIN_MS,
  logger: { ...console, info() {}, debug() {} },
});

const port = process.env["PORT"];
if (port !== undefined) {
  const answers = healthHandler(watchHealth(election));
  const probes = createServer((request, response) => {
    if (!answers(request, response)) response.writeHead(404).end();
  });
  probes.listen(Number(port)).unref();
}

await election.lead(
  async (term) => {
    const controller = new Controller();
    await controller.start();
    await term.ended; // settles drainMs before the deadline, or when this process is told to stop
    await controller.stop(); // the seat is given back only after this
  },
  { signal: shutdownSignal({ exitWithinMs: EXIT_WITHIN_MS }) },
);
