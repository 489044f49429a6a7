// @ts-check
// The Debian packages that tests need: faults that only a real program can make. Says which are missing and installs them where it may: on Debian, as
// root. Elsewhere it prints the one command that does it, and fails. A package is there if its program is found; who installed it does not matter.
// Exit: 0 everything is there, 1 something is missing and cannot be installed here, 2 wrong usage.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

/** @typedef {{ readonly name: string, readonly program: string, readonly why: string }} Package */

/** @type {readonly Package[]} */
export const PACKAGES = [
  { name: "perl", program: "perl", why: "a process whose first thread ends before the others" },
  { name: "faketime", program: "faketime", why: "a wall clock that jumps under a running process" },
  { name: "strace", program: "strace", why: "what a process really asks of the kernel, and when" },
  { name: "stress-ng", program: "stress-ng", why: "a machine with no core to spare" },
  { name: "util-linux", program: "unshare", why: "processes in namespaces of their own" },
];

const HELP = `The Debian packages that tests need.

  node scripts/debian-packages.mjs [--list]

  --list   says what is needed, and installs nothing

Exit: 0 everything is there, 1 something is missing and cannot be installed here, 2 wrong usage.
`;

/** @param {readonly Package[]} packages @returns {Package[]} */
export function missing(packages = PACKAGES) {
  const folders = (process.env["PATH"] ?? "").split(path.delimiter);
  return packages.filter(({ program }) => !folders.some((folder) => existsSync(path.join(folder, program))));
}

/** Installs what is missing. Throws one error that says what to run where this process may not. @param {readonly Package[]} packages */
export function install(packages = PACKAGES) {
  const needed = missing(packages);
  if (needed.length === 0) return;
  for (const { name, why } of needed) process.stdout.write(`${name} is not installed: ${why}\n`);
  const names = needed.map(({ name }) => name);
  if (!existsSync("/etc/debian_version"))
    throw new Error(
      `this is not Debian, where they are ${names.join(", ")}. Install the same programs: ${needed.map(({ program }) => program).join(", ")}`,
    );
  if (process.geteuid?.() !== 0) throw new Error(`only root may install them. Run: sudo ${command(names).join(" ")}`);
  // The lists of a fresh image are empty, those of an old one name versions that are gone; only then are they fetched.
  if (apt(command(names)) || (apt(["apt-get", "update"]) && apt(command(names)))) return;
  throw new Error(`they could not be installed. Run: apt-get update && ${command(names).join(" ")}`);
}

/** @param {readonly string[]} names */
function command(names) {
  return ["apt-get", "install", "-y", "--no-install-recommends", ...names];
}

/** @param {readonly string[]} command @returns {boolean} */
function apt([program = "", ...args]) {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8", env });
  if (status !== 0) process.stderr.write(`${program} ${args[0]}: ${stdout.slice(-500)}${stderr.slice(-500)}\n`);
  return status === 0;
}

function main() {
  try {
    const options = /** @type {const} */ ({ list: { type: "boolean" }, help: { type: "boolean" } });
    const { list, help } = parseArgs({ options, strict: true }).values;
    if (help === true) process.stdout.write(HELP);
    else if (list === true) for (const { name, why } of PACKAGES) process.stdout.write(`${name}: ${why}\n`);
    else return installOrSay();
    return 0;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
    return 2;
  }
}

function installOrSay() {
  try {
    install();
    return 0;
  } catch (error) {
    process.stderr.write(`tests need Debian packages: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = main();
