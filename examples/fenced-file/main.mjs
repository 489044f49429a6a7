// A file that two leaders write, the old one late: it was stopped between its decision to write and the write. First a plain file, where the one that writes
// last wins; then a fenced one, where the token is in the name and readers take the greatest.
//
//   npm run build && node examples/fenced-file/main.mjs
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createCandidate } from "conclave";
import { fileFence } from "conclave/fencing";
import { memory } from "conclave/stores/memory";

const store = memory();
const first = createCandidate({ store, id: "first", ttlMs: 1_000 });
const second = createCandidate({ store, id: "second", ttlMs: 1_000 });
const old = await first.election("config").campaign();
await old.resign(); // or its lease ran out while it was stopped
const successor = await second.election("config").campaign();

const folder = await mkdtemp(path.join(tmpdir(), "fenced-file-"));
const plain = path.join(folder, "plain.json");
await writeFile(plain, "of the successor");
await writeFile(plain, "of the old leader"); // late
const unfenced = await readFile(plain, "utf8");
console.log(`without a fence: ${unfenced}`);

const file = fileFence(folder, "fenced.json");
await file.write("before", old);
await file.raise(successor); // before it reads: from now on nothing of the old leader is seen
const read = (await file.read())?.content.toString();
const late = await file.write("of the old leader", old).catch((error) => error.code);
await file.write(`of the successor, who read "${read}"`, successor);
const fenced = (await file.read())?.content.toString();
console.log(`with a fence:    ${fenced}; the late write: ${late}`);

await rm(folder, { recursive: true });
await Promise.all([first.close(), second.close()]);
const asMeant = fenced === `of the successor, who read "before"` && late === "TOKEN_STALE";
if (unfenced !== "of the old leader" || !asMeant) process.exitCode = 1;
