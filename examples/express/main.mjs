// A web service with a scheduler in every replica, of which one does the work; and with probes. Express 5.
//
//   npm run build && node examples/express/main.mjs
import express from "express";
import { elect, openStore, requireFenced, shutdownSignal } from "conclave";
import { healthHandler, watchHealth } from "conclave/health";
import { createMetrics } from "conclave/telemetry";

const store = await openStore(process.env["CONCLAVE_STORE"] ?? "memory:");
requireFenced(store);
const election = elect("reports", { store, logger: { ...console, debug() {} } });

const app = express();
app.use(healthHandler(watchHealth(election))); // GET /healthz, GET /readyz
const metrics = createMetrics();
election.subscribe(metrics.record);
app.get("/metrics", (_request, response) => void response.type("text/plain").send(metrics.text()));
app.get("/leader", async (_request, response) => void response.json({ leader: await election.leader() }));

election.start();

/** What node-cron's `schedule("* * * * *", tick)` is in your service. Runs on the leader only; the other replicas' ticks do nothing. */
const timer = setInterval(() => void election.ifLeading(report).catch((error) => console.error(error)), 100);

/** @param {import("conclave").Term} term */
async function report(term) {
  term.throwIfNotLeading();
  console.log(`report by the leader with token ${term.token.value}`);
}

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  const address = server.address();
  console.log(`listening on ${typeof address === "object" ? address?.port : address}`);
});

shutdownSignal({ exitWithinMs: 8_000 }).addEventListener("abort", () => {
  clearInterval(timer);
  server.close();
  server.closeIdleConnections();
  void election.close();
});
