// @ts-check
// Two candidates in one process, each with a connection of its own, that take one lock in turns. Says each time, as one write to stdout, which token it was told and that the lock was given back.
//   argument   { modules, path, turns: how many times in a row, by the first, the second, the first …}
import { writeSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const { modules, path: file, turns } = JSON.parse(process.argv[2] ?? "{}");
const load = (/** @type {string} */ name) => import(pathToFileURL(path.join(modules, `${name}.js`)).href);
const { createCandidate } = await load("index");
const { sqlite } = await load("sqlite");

const candidates = ["a", "b"].map((id) => createCandidate({ store: sqlite(file), id, ttlMs: 10_000 }));
const say = (/** @type {string} */ event, /** @type {string} */ token) =>
  writeSync(1, `${JSON.stringify({ event, token })}\n`);

for (const [turn, times] of turns.entries())
  for (let time = 0; time < times; time++) {
    let token = "";
    await candidates[turn % 2].withLock("x", async (/** @type {any} */ lock) => {
      token = `${lock.token.value}`;
      say("taken", token);
    });
    say("given", token);
  }
for (const candidate of candidates) await candidate.close();
