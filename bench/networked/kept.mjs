// @ts-check
// A candidate in a process of its own, with a keeper or without, for benchmarks that kill it. Says on stdout, with the clock that all processes share:
//   waiting                 another leads
//   elected AT TOOK         TOOK: milliseconds since the candidate was made
//   arguments: URL NAME TTL_MS fenced|none
import { createCandidate, openStore } from "conclave";

const [url = "", name = "", ttl = "", keeper = ""] = process.argv.slice(2);
const store = await openStore(url);
const from = nowMs();
const kept = keeper === "fenced" ? { keeper: /** @type {const} */ ({ effectsAreFenced: true }) } : {};
const candidate = createCandidate({
  store: /** @type {import("conclave").FencedStore} */ (store),
  ttlMs: Number(ttl),
  ...kept,
});
candidate.subscribe((event) => {
  if (event.type === "waiting") process.stdout.write("waiting\n");
});
await candidate.election(name).campaign();
const at = nowMs();
process.stdout.write(`elected ${at} ${at - from}\n`);

function nowMs() {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
