// A key in etcd that two leaders write, the old one late. First without a guard, then with one: each write is a transaction that compares the fence.
// Needs an etcd: npm run servers -- etcd, or any other; its URL in ETCD_URL.
//
//   npm run build && ETCD_URL=etcd://127.0.0.1:2379 node examples/fenced-etcd/main.mjs
import { createCandidate } from "conclave";
import { etcdFence } from "conclave/fencing/etcd";
import { etcd } from "conclave/stores/etcd";

const url = process.env["ETCD_URL"] ?? "etcd://127.0.0.1:2379";
const store = etcd(url);
const first = createCandidate({ store, id: "first", ttlMs: 2_000 });
const second = createCandidate({ store, id: "second", ttlMs: 2_000 });
const old = await first.election("example-owner").campaign();
await old.resign(); // or its lease ran out while it was stopped
const successor = await second.election("example-owner").campaign();

const fence = etcdFence(url);

/** Without a term, as if every writer had a resource of its own: nothing is compared. @param {string} name @param {import("conclave").Fenced} [term] */
async function setOwner(name, term) {
  try {
    if (term) await fence.write("example-owner", term, [{ put: "example-owner", value: name }]);
    else await fence.write(`example of ${name}`, successor, [{ put: "example-owner", value: name }]);
    return "written";
  } catch (error) {
    return /** @type {{ code: string }} */ (error).code;
  }
}

await setOwner("successor");
await setOwner("old leader"); // late
const unfenced = await fence.read("example-owner");
console.log(`without a fence: ${unfenced}`);

await fence.raise("example-owner", successor); // before it reads
await setOwner("successor", successor);
const late = await setOwner("old leader", old);
const fenced = await fence.read("example-owner");
console.log(`with a fence:    ${fenced}; the late write: ${late}`);

await Promise.all([first.close(), second.close(), fence.close()]);
if (unfenced !== "old leader" || fenced !== "successor" || late !== "TOKEN_STALE") process.exitCode = 1;
