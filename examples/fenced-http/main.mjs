// A server that two leaders write to. A request of the old leader is slow; one of its successor comes and goes meanwhile; then the slow one writes. First
// without a guard, then behind one: requests carry their token, a newer one waits for older ones in flight, an older one is answered 412.
//
//   npm run build && node examples/fenced-http/main.mjs
import { createServer } from "node:http";
import { createCandidate } from "conclave";
import { durableFence, fencedListener, fencingHeaders } from "conclave/fencing";
import { memory } from "conclave/stores/memory";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

const store = memory();
const first = createCandidate({ store, id: "first", ttlMs: 1_000 });
const second = createCandidate({ store, id: "second", ttlMs: 1_000 });
const old = await first.election("price").campaign();
await old.resign(); // or its lease ran out: the request is on its way all the same
const successor = await second.election("price").campaign();

let price = "";
/** @param {import("node:http").IncomingMessage} request @param {import("node:http").ServerResponse} response */
async function setPrice(request, response) {
  const url = new URL(request.url ?? "/", "http://localhost");
  await new Promise((resolve) => setTimeout(resolve, Number(url.searchParams.get("slowMs"))));
  price = url.searchParams.get("price") ?? "";
  response.end();
}

/** Sends a slow request of the old leader, then a fast one of its successor. @param {string} origin */
async function race(origin) {
  const slow = fetch(`${origin}/?price=old&slowMs=150`, { headers: fencingHeaders(old) });
  await new Promise((resolve) => setTimeout(resolve, 50));
  await Promise.all([slow, fetch(`${origin}/?price=new&slowMs=0`, { headers: fencingHeaders(successor) })]);
  return price;
}

/** @param {import("node:http").RequestListener} listener */
async function serve(listener) {
  const server = createServer(listener);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return { origin: `http://127.0.0.1:${port}`, close: () => [server.closeAllConnections(), server.close()] };
}

const plain = await serve((request, response) => void setPrice(request, response));
const unfenced = await race(plain.origin);
plain.close();
console.log(`without a fence: the ${unfenced} leader's price`);

const folder = await mkdtemp(path.join(tmpdir(), "fenced-http-"));
const guard = durableFence(folder); // remembers the newest token over restarts
const guarded = await serve(fencedListener(guard, "price", setPrice));
const fenced = await race(guarded.origin);
const late = await fetch(`${guarded.origin}/?price=old&slowMs=0`, { headers: fencingHeaders(old) });
guarded.close();
console.log(`with a fence:    the ${fenced} leader's price; a late request: ${late.status}`);

await rm(folder, { recursive: true });
await Promise.all([first.close(), second.close()]);
if (unfenced !== "old" || fenced !== "new" || price !== "new" || late.status !== 412) process.exitCode = 1;
