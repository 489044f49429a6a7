// @ts-check
// Incidents, tried without their defence: for each test of test/incidents, applies the patch that its head names ("Taken out: …") to src as that
// test loads it. It must fail: a test that passes without its defence tests nothing. A file test/stores/STORE/incidents.test.ts has many incidents; its head names a patch for
// each ("Taken out (SLUG): …"), and its tests of that name are run alone.
// Exit: 0 every test fails without its defence, 1 one does not or its patch no longer applies, 2 wrong usage.
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { PatchedTests } from "./patched-tests.mjs";

const HELP = `Runs each test of test/incidents, and each incident of test/stores/STORE/incidents.test.ts, with its defence taken out, and expects it to fail.

  npm run defences -- [--only SLUG] [--quick] [--json]

SLUG is the name of a file of test/incidents, or STORE/SLUG; STORE alone means all of that store. --quick leaves out the incidents of the stores, as in npm test.

Exit: 0 every test fails without its defence, 1 one does not or its patch no longer applies, 2 wrong usage.
`;
const root = fileURLToPath(new URL("..", import.meta.url));
/** Without its defence a test may also never end; that is noticed too. */
const LONGEST_MS = 90_000;
const tests = new PatchedTests();

/**
 * @typedef {{ slug: string, test: string, name: string, patch: string }} Incident `name`: how the names of its tests begin; "": all of the file
 * @typedef {Incident & { failed: boolean, how: string }} Outcome
 */

const exitCode = await main();
if (exitCode !== 0) process.exitCode = exitCode;

async function main() {
  const options = readOptions();
  if (options === undefined) return 2;
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const { only, quick } = options;
  const found = await findIncidents();
  const all = quick === true ? found.filter(({ name }) => name === "") : found;
  const chosen = all.filter(({ slug }) => only === undefined || slug === only || slug.startsWith(`${only}/`));
  if (chosen.length === 0) {
    process.stderr.write(`no such incident: ${options.only}\n`);
    return 2;
  }
  const outcomes = await tryAll(chosen, options.json);
  tests.close();
  const useless = outcomes.filter(({ failed }) => !failed);
  if (options.json) process.stdout.write(`${JSON.stringify({ outcomes })}\n`);
  else
    process.stdout.write(
      `${outcomes.length - useless.length} of ${outcomes.length} incidents are noticed when their defence is taken out\n`,
    );
  return useless.length === 0 ? 0 : 1;
}

function readOptions() {
  try {
    return parseArgs({
      options: {
        only: { type: "string" },
        quick: { type: "boolean" },
        json: { type: "boolean" },
        help: { type: "boolean" },
      },
      strict: true,
    }).values;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
    return undefined;
  }
}

/** @returns {Promise<Incident[]>} */
async function findIncidents() {
  const files = (await readdir(path.join(root, "test/incidents"))).map((file) => `test/incidents/${file}`);
  const alone = files.map(async (test) => {
    const patch = /^\/\/ Taken out: (\S+)$/m.exec(await readFile(path.join(root, test), "utf8"))?.[1] ?? "";
    return { slug: path.basename(test, ".test.ts"), test, name: "", patch };
  });
  const stores = (await readdir(path.join(root, "test/stores"))).filter((store) =>
    existsSync(path.join(root, "test/stores", store, "incidents.test.ts")),
  );
  const ofStores = stores.map(async (store) => {
    const test = `test/stores/${store}/incidents.test.ts`;
    const lines = (await readFile(path.join(root, test), "utf8")).matchAll(/^\/\/ Taken out \(([\w-]+)\): (\S+)$/gm);
    return [...lines].map(([, slug = "", patch = ""]) => ({
      slug: `${store}/${slug}`,
      test,
      name: `${slug}: `,
      patch,
    }));
  });
  return [...(await Promise.all(alone)), ...(await Promise.all(ofStores)).flat()];
}

/** @param {Incident[]} incidents @param {boolean | undefined} quiet @returns {Promise<Outcome[]>} */
async function tryAll(incidents, quiet) {
  const left = [...incidents];
  /** @type {Outcome[]} */
  const outcomes = [];
  const work = async () => {
    for (let incident = left.shift(); incident !== undefined; incident = left.shift()) {
      const outcome = await tryOne(incident);
      outcomes.push(outcome);
      if (!quiet)
        process.stdout.write(
          `${outcome.failed ? "noticed    " : "NOT NOTICED"}  ${outcome.slug.padEnd(24)} ${outcome.patch.padEnd(50)} ${outcome.how}\n`,
        );
    }
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), incidents.length) }, work));
  return await Promise.all(
    outcomes.map(async (outcome) => (outcome.failed ? outcome : await tryAgain(outcome, quiet))),
  );
}

/**
 * Some incidents need a moment that a busy machine does not always give: a rival that is in time, a pause that is long enough. They have a second try.
 * @param {Outcome} first @param {boolean | undefined} quiet @returns {Promise<Outcome>}
 */
async function tryAgain(first, quiet) {
  const second = await tryOne(first);
  const heading = second.failed ? "noticed at the second try" : "NOT NOTICED, tried twice";
  if (!quiet) process.stdout.write(`${heading}: ${first.slug}  ${second.how}\n`);
  return second;
}

/** @param {Incident} incident @returns {Promise<Outcome>} */
async function tryOne({ slug, test, name, patch }) {
  const incident = { slug, test, name, patch };
  if (patch === "") return { ...incident, failed: false, how: `the head of ${test} names no patch` };
  const { verdict, story } = await tests.run({ test, patch: path.join(root, patch), name }, LONGEST_MS);
  const how =
    verdict === "fails" ? `fails: ${story.slice(0, 90)}` : verdict === "cannot run" ? `cannot run: ${story}` : story;
  return { ...incident, failed: verdict === "fails" || verdict === "hangs", how };
}
