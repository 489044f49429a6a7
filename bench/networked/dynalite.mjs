// @ts-check
// dynalite, in memory, with a count of what it is asked: GET / of the second port answers it as JSON. A program of its own, so that it burdens nobody who is measured.
import { createServer } from "node:http";
import { createRequire } from "node:module";

const [port = "0", countPort = "0"] = process.argv.slice(2);
/** @type {(options: object) => import("node:http").Server} */
const dynalite = createRequire(import.meta.url)("dynalite");
/** @type {Record<string, number>} */
const counts = {};
const server = dynalite({ createTableMs: 0 });
server.prependListener("request", (request) => {
  const verb = String(request.headers["x-amz-target"]).split(".")[1];
  if (verb !== undefined) counts[verb] = (counts[verb] ?? 0) + 1;
});
// Those who are measured take turns of five seconds, and Node's servers close a connection that has been idle for as long: a request that is sent in that moment fails.
server.keepAliveTimeout = 60_000;
server.listen(Number(port), "127.0.0.1", () => {
  createServer((_, response) => response.end(JSON.stringify(counts))).listen(Number(countPort), "127.0.0.1", () => {
    console.log("ready");
  });
});
