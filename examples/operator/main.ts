// A Kubernetes operator: the controller runs in the pod that leads, and has stopped before another pod starts its own.
// Needs `conclave/stores/kubernetes`, which is planned.
import { elect, shutdownSignal } from "conclave";
import { kubernetes } from "conclave/stores/kubernetes";

declare class Controller {
  start(): Promise<void>;
  stop(): Promise<void>;
}

const election = elect("widget-operator", { store: kubernetes(), id: process.env["POD_NAME"], drainMs: 5_000 });
await election.lead(
  async (term) => {
    const controller = new Controller();
    await controller.start();
    await term.ended; // settles drainMs before the deadline, or when this pod is told to stop
    await controller.stop(); // the seat is given back only after this
  },
  { signal: shutdownSignal() },
);
