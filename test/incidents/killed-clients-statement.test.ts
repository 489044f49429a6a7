// From the review of the design: a killed client's statement committed 2.5 s later (Postgres). A successor that begins at once, because the kernel says
// that the old leader is dead, meets the write of somebody who does not exist any more.
// Here: what was admitted is waited for, what comes later is refused by its token; and where there are no tokens the successor waits for a quiet period
// (law 13). Real leaders on a file, killed with SIGKILL; what they had sent lives on, in a server and in a process of its own.
// Taken out: test/defences/killed-clients-statement.patch
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { fencedListener, memoryFence } from "conclave/fencing";
import { Family } from "../fencing/children.ts";

let family: Family;
beforeAll(async () => {
  family = await Family.begin();
});
afterAll(() => family.end());

/** `folder` is the path of the store's file, `value` the server's address. */
const LEADER = `
import { spawn } from "node:child_process";
const term = await conclave.elect("ledger", { store: conclave.sqlite(folder), ttlMs: 60_000 }).campaign();
const headers = conclave.fencingHeaders(term);
const write = (path) => fetch(value + path, { method: "POST", headers }).then(({ status }) => status);
say("elected");
`;

/** Sends a write that takes its time at the server, and leaves another with a clerk that outlives it and sends it when the file "go" is there. */
const OLD = `${LEADER}
const CLERK = \`
const { existsSync, writeFileSync } = require("node:fs");
const [url, headers, file] = process.argv.slice(1);
setTimeout(() => process.exit(), 20_000);
const waiting = setInterval(async () => {
  if (!existsSync(file + "-go")) return;
  clearInterval(waiting);
  const { status } = await fetch(url + "/late", { method: "POST", headers: JSON.parse(headers) });
  writeFileSync(file + "-answer", String(status));
  process.exit();
}, 5);\`;
const clerk = spawn(process.execPath, ["-e", CLERK, value, JSON.stringify(headers), folder], { detached: true, stdio: "ignore" });
clerk.unref();
await write("/slow");
`;

const NEW = `${LEADER}
say(await write("/now"));
await heard();
process.exit();
`;

/** A resource whose write to /slow ends when `finish` is called. `arrived` tells of every request, admitted or not. */
async function startServer(
  story: string[],
  arrived: string[],
): Promise<{ server: Server; url: string; finish: () => void }> {
  let finish = (): void => {};
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const listener = fencedListener(memoryFence(), "ledger", async ({ url }, response) => {
    story.push(`${url} begins`);
    if (url === "/slow") await finished;
    story.push(`${url} writes`);
    response.end();
  });
  const server = createServer((request, response) => {
    arrived.push(request.url ?? "");
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, finish };
}

it("killed-clients-statement: what the dead had sent ends before the successor's first write, or is refused", async () => {
  const [story, arrived]: [string[], string[]] = [[], []];
  const { server, url, finish } = await startServer(story, arrived);
  const file = family.place("fenced.db");
  const old = await family.spawn(OLD, file, url);
  await old.until((said) => said.includes("elected"));
  await expect.poll(() => story).toEqual(["/slow begins"]);
  const successor = await family.spawn(NEW, file, url);
  old.kill("SIGKILL");
  await successor.until((said) => said.includes("elected")); // long before the ttl of a minute
  await expect.poll(() => arrived, { timeout: 10_000 }).toContain("/now");
  await new Promise((resolve) => setTimeout(resolve, 50)); // it is waiting now, or has written
  finish();
  await successor.until((said) => said.includes(200));
  writeFileSync(`${file}-go`, "");
  await expect
    .poll(() => readFileSync(`${file}-answer`, { encoding: "utf8", flag: "a+" }), { timeout: 10_000 })
    .toBe("412");
  expect(story).toEqual(["/slow begins", "/slow writes", "/now begins", "/now writes"]);
  server.closeAllConnections();
  server.close();
});

/** The same store, taken for one that has no tokens; `value` is its ttl. Leaves a write behind that takes a second. */
const UNFENCED = `
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
const store = conclave.sqlite(folder);
const methods = ["keep", "claim", "release", "look", "watch", "close"].map((name) => [name, store[name].bind(store)]);
const unfenced = { ...Object.fromEntries(methods), guarantee: { ...store.guarantee, fencing: "unfenced" } };
await conclave.elect("ledger", { store: unfenced, unfenced: true, ttlMs: Number(value) }).campaign();
say({ elected: existsSync(folder + "-late") ? "after the late write" : "before the late write" });
spawn("sh", ["-c", 'sleep 1; touch "$0-late"', folder], { detached: true, stdio: "ignore" }).unref();
await heard();
process.exit();
`;

it("killed-clients-statement: without tokens a dead leader is followed after a quiet period, when its write has landed", async () => {
  const ttlMs = 3000;
  const file = family.place("unfenced.db");
  const old = await family.spawn(UNFENCED, file, `${ttlMs}`);
  await old.until((said) => said.length === 1);
  const successor = await family.spawn(UNFENCED, file, `${ttlMs}`);
  await new Promise((resolve) => setTimeout(resolve, 300));
  old.kill("SIGKILL");
  await successor.until((said) => said.length === 1);
  expect(successor.said).toEqual([{ elected: "after the late write" }]);
  successor.tell("that is all");
});
