// @ts-check
// Programs of another Debian suite, unpacked into a folder of their own. Nothing of the system changes: apt-get works in a private root whose list of sources
// is the machine's own with another suite's name in it, and `dpkg -x` unpacks what it downloads. Needs Debian and the network, not root.
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { cacheFolder as sharedCache } from "../cached.mjs";

/** @typedef {{ suite: string, packages: readonly string[], dependencies?: boolean, source?: string }} Wanted `dependencies`: with everything that they depend on. `source`: also what this source package was made of, in the folder `source` */

/** Where it is all kept between runs. Deleting it makes the next run fetch anew. */
export function cacheFolder() {
  return path.join(sharedCache(), "servers");
}

/**
 * The folder into which these packages are unpacked (usr/bin and so on are below it). Downloads them unless they are there.
 * @param {string} name @param {Wanted} wanted @param {(line: string) => void} [say]
 */
export function fetchPackages(
  name,
  { suite, packages, dependencies = false, source },
  say = (line) => process.stderr.write(`${line}\n`),
) {
  const folder = path.join(cacheFolder(), `${name}-${suite}`);
  if (existsSync(folder)) return folder;
  say(`fetching Debian packages of ${suite} into ${folder}: ${packages.join(" ")}`);
  mkdirSync(cacheFolder(), { recursive: true });
  const scratch = mkdtempSync(path.join(cacheFolder(), ".fetching-"));
  try {
    const apt = privateRoot(scratch, suite);
    run("apt-get", [...apt, "-q", "update"], scratch);
    const downloads = download(apt, packages, dependencies, scratch);
    const unpacked = path.join(scratch, "unpacked");
    for (const file of readdirSync(downloads))
      if (file.endsWith(".deb")) run("dpkg", ["-x", file, unpacked], downloads);
    if (source !== undefined) fetchSource(apt, source, scratch, path.join(unpacked, "source"));
    moveTo(unpacked, folder);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return folder;
}

/**
 * The folder with the packages. To apt-get, nothing is installed in the private root: so what they depend on is all that there is.
 * @param {readonly string[]} apt @param {readonly string[]} packages @param {boolean} dependencies @param {string} scratch
 */
function download(apt, packages, dependencies, scratch) {
  if (dependencies) {
    run("apt-get", [...apt, "-q", "-y", "--no-install-recommends", "--download-only", "install", ...packages], scratch);
    return path.join(scratch, "cache/archives");
  }
  const downloads = path.join(scratch, "downloads");
  mkdirSync(downloads);
  run("apt-get", [...apt, "-q", "download", ...packages], downloads);
  return downloads;
}

/** As its authors have published it, without Debian's patches. @param {readonly string[]} apt @param {string} name @param {string} scratch @param {string} folder */
function fetchSource(apt, name, scratch, folder) {
  const downloads = path.join(scratch, "sources");
  mkdirSync(downloads);
  mkdirSync(folder);
  run("apt-get", [...apt, "-q", "--download-only", "source", name], downloads);
  const original = readdirSync(downloads).find((file) => /\.orig\.tar\.\w+$/.test(file));
  if (original === undefined) throw new Error(`the source package ${name} has no original source`);
  run("tar", ["-x", "-C", folder, "-f", original], downloads);
}

/** Two runs may fetch at once; the first to be ready is taken. @param {string} unpacked @param {string} folder */
function moveTo(unpacked, folder) {
  try {
    renameSync(unpacked, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
  }
}

/** The options that keep apt-get inside `root`. @param {string} root @param {string} suite @returns {string[]} */
function privateRoot(root, suite) {
  for (const folder of ["lists/partial", "cache/archives/partial"])
    mkdirSync(path.join(root, folder), { recursive: true });
  const [status, sources] = [path.join(root, "status"), path.join(root, "private.sources")];
  writeFileSync(status, "");
  writeFileSync(sources, sourceOf(suite));
  const settings = {
    "Dir::State": root,
    "Dir::State::lists": path.join(root, "lists"),
    "Dir::State::status": status,
    "Dir::Cache": path.join(root, "cache"),
    "Dir::Etc::sourcelist": sources,
    "Dir::Etc::sourceparts": "-",
    // The folder is this user's own, and apt's user cannot enter it.
    "APT::Sandbox::User": os.userInfo().username,
  };
  return Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
}

/** The machine's own source of Debian, for another suite. @param {string} suite */
function sourceOf(suite) {
  const codename = /^VERSION_CODENAME=(.+)$/m.exec(readIfThere("/etc/os-release"))?.[1] ?? "";
  const own = stanzas().find(({ suites }) => codename !== "" && suites.includes(codename));
  if (own === undefined) throw new Error("this machine names no source of Debian packages: newer servers need Debian");
  const signed = own.signedBy === undefined ? "" : `Signed-By: ${own.signedBy}\n`;
  return `Types: deb deb-src\nURIs: ${own.uri}\nSuites: ${suite}\nComponents: main\n${signed}`;
}

/** Both forms in which apt reads its sources. @returns {{ uri: string, suites: string[], signedBy: string | undefined }[]} */
function stanzas() {
  const parts = "/etc/apt/sources.list.d";
  const files = existsSync(parts) ? readdirSync(parts).map((file) => path.join(parts, file)) : [];
  return [...files, "/etc/apt/sources.list"].flatMap((file) => {
    const text = readIfThere(file).replaceAll(/^\s*#.*\n/gm, "");
    return file.endsWith(".sources") ? text.split(/\n\s*\n/).map(readStanza) : text.split("\n").flatMap(readLine);
  });
}

/** @param {string} text */
function readStanza(text) {
  const field = (/** @type {string} */ name) => new RegExp(`^${name}:\\s*(\\S.*)$`, "im").exec(text)?.[1]?.trim();
  const signedBy = field("Signed-By");
  return { uri: field("URIs")?.split(/\s+/)[0] ?? "", suites: field("Suites")?.split(/\s+/) ?? [], signedBy };
}

/** @param {string} line */
function readLine(line) {
  const match = /^deb\s+(?:\[(?<options>[^\]]*)\]\s+)?(?<uri>\S+)\s+(?<suite>\S+)/.exec(line)?.groups;
  if (match === undefined) return [];
  const signedBy = /signed-by=(\S+)/.exec(match["options"] ?? "")?.[1];
  return [{ uri: match["uri"] ?? "", suites: [match["suite"] ?? ""], signedBy }];
}

/** @param {string} file */
function readIfThere(file) {
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

/** @param {string} command @param {readonly string[]} args @param {string} cwd */
function run(command, args, cwd) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8" });
  if (status !== 0)
    throw new Error(`${command} ${args.join(" ")} failed: ${stderr ?? stdout ?? ""}${error?.message ?? ""}`.trim());
}
