// @ts-check
// Projects of users (test/projects), each in a folder of its own with the package as it is published: installed from the tarball, compiled, tested, run.
//   node scripts/projects.mjs [NAME…]     all of them, or those; npm run test:projects builds first
// A project is a folder with a package.json, whose script "check" must succeed, or a check.mjs, which needs nothing from npm.
// Exit: 0 everything works, 1 something does not.
import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const projects = path.join(root, "test/projects");
/** They wait for a registry for half of their time. */
const AT_ONCE = 2;

/** All projects that have something to check. */
export function projectNames() {
  return readdirSync(projects).filter((name) =>
    ["package.json", "check.mjs"].some((file) => existsSync(path.join(projects, name, file))),
  );
}

/** @param {string} tarball @param {readonly string[]} names @returns {Promise<boolean>} whether all of them succeed */
export async function checkProjects(tarball, names) {
  const folder = mkdtempSync(path.join(tmpdir(), "conclave-projects-"));
  const left = [...names];
  let isGood = true;
  const worker = async () => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      const started = performance.now();
      const problem = await checkProject(tarball, name, path.join(folder, name));
      const seconds = ((performance.now() - started) / 1000).toFixed(0);
      process.stdout.write(`${name}: ${problem === undefined ? "ok" : "FAILED"} in ${seconds} s\n`);
      if (problem !== undefined) process.stderr.write(`${problem}\n`);
      isGood &&= problem === undefined;
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return isGood;
}

/** @param {string} tarball @param {string} name @param {string} folder @returns {Promise<string | undefined>} what went wrong */
async function checkProject(tarball, name, folder) {
  cpSync(path.join(projects, name), folder, { recursive: true });
  const manifest = path.join(folder, "package.json");
  const hasOwn = existsSync(manifest);
  const content = hasOwn ? JSON.parse(readFileSync(manifest, "utf8")) : { private: true };
  content.dependencies = { ...content.dependencies, conclave: `file:${tarball}` };
  writeFileSync(manifest, JSON.stringify(content));
  return (
    (await run(folder, "npm", ["install", "--loglevel=error", "--no-audit", "--no-fund"])) ??
    (hasOwn ? await run(folder, "npm", ["run", "-s", "check"]) : await run(folder, process.execPath, ["check.mjs"]))
  );
}

/** @param {string} cwd @param {string} command @param {string[]} args @returns {Promise<string | undefined>} what it said, if it failed */
function run(cwd, command, args) {
  return new Promise((resolve) => {
    const env = { ...process.env, CONCLAVE_REPOSITORY: root, NODE_OPTIONS: "" };
    const child = spawn(command, args, {
      cwd,
      env,
      stdio: ["ignore", "pipe", "pipe"],
      shell: process.platform === "win32",
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (/** @type {string} */ text) => (said += text));
    child.on("error", (error) => resolve(error.message));
    child.on("close", (code) => resolve(code === 0 ? undefined : `${command} ${args.join(" ")} failed:\n${said}`));
  });
}

/** @param {string} folder where it is put @returns {Promise<string>} its path */
export async function pack(folder) {
  const problem = await run(root, "npm", ["pack", "--silent", "--pack-destination", folder]);
  const tarball = readdirSync(folder).find((file) => file.endsWith(".tgz"));
  if (problem !== undefined || tarball === undefined) throw new Error(problem ?? "npm pack made no tarball");
  return path.join(folder, tarball);
}

if (process.argv[1] !== undefined && path.resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const asked = process.argv.slice(2);
  const folder = mkdtempSync(path.join(tmpdir(), "conclave-tarball-"));
  try {
    const isGood = await checkProjects(await pack(folder), asked.length > 0 ? asked : projectNames());
    process.exitCode = isGood ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
