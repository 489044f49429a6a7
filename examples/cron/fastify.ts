// The same as a Fastify plugin: a poller that runs on one replica while the server is up.
// Needs an etcd.
import { createCandidate } from "conclave";
import { etcd } from "conclave/stores/etcd";

interface App {
  addHook(name: "onReady" | "onClose", hook: () => Promise<void>): void;
  readonly log: { error(error: unknown): void };
}
declare function poll(signal: AbortSignal): Promise<void>;

export async function leaderPlugin(app: App): Promise<void> {
  const candidate = createCandidate({ store: etcd("etcd://127.0.0.1:2379") });
  candidate.subscribe((event) => {
    if (event.type === "error") app.log.error(event.error);
  });
  app.addHook("onReady", async () => {
    // Not awaited: it leads until the server closes. What it rejects with is the error of `poll`.
    candidate
      .election("poller")
      .lead((term) => poll(term.signal))
      .catch((error: unknown) => app.log.error(error));
  });
  app.addHook("onClose", () => candidate.close());
}
