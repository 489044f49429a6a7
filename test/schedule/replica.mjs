// @ts-check
// One replica, in a process of its own, that is killed and stopped: it runs a schedule and appends what it does to a file, or migrates once.
//   argument   { modules, store, log, does: "schedule" | "migrate", everyMs?, mark? }
import { appendFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const options = JSON.parse(process.argv[2] ?? "{}");
const load = (/** @type {string} */ name) => import(pathToFileURL(path.join(options.modules, `${name}.js`)).href);
const { elect, openStore } = await load("index");
const note = (/** @type {string} */ what) => appendFileSync(options.log, `${what} ${process.pid}\n`);
const sleep = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

const store = await openStore(options.store);
const election = elect("job", {
  store,
  ttlMs: 2000,
  logger: { debug() {}, info() {}, warn() {}, error: console.error },
});

if (options.does === "schedule") {
  const { schedule } = await load("schedule");
  election.subscribe((/** @type {import("conclave").ConclaveEvent} */ event) => {
    if (event.type === "elected") note(`term ${event.token?.value}`);
  });
  schedule(
    election,
    { everyMs: options.everyMs },
    async (/** @type {{ slot: Date }} */ { slot }) => {
      note(`begun ${slot.getTime()}`);
      await sleep(options.everyMs / 4);
      note(`ended ${slot.getTime()}`);
    },
    { missed: "all", mark: options.mark },
  );
  process.on("SIGTERM", () => void election.close().then(() => store.close()));
} else {
  // The recipe of docs/MIGRATIONS.md.
  const isDone = async () => (await election.memo("version"))?.value === "42";
  if (!(await isDone()))
    await election.lead(async (/** @type {import("conclave").Term} */ term) => {
      if (await isDone()) return;
      note("migrates");
      await sleep(100);
      note("migrated");
      await term.memo("version", "42");
    });
  note("serves");
  await election.close();
  await store.close();
}
