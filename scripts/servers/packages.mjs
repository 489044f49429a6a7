// @ts-check
// Which Debian packages the servers of the tests need, and which of them are missing. Installs only as root on Debian, and says what; anywhere else it
// throws with the one command to run. Nothing is ever removed or configured.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

/** What faults are made with: cut networks, stalled disks, jumping clocks (faketime), busy cores (stress-ng), namespaces; certificates; what is seen of a process (strace, procps); and shells, for completion. */
export const TOOLS = [
  "e2fsprogs",
  "faketime",
  "fish",
  "iproute2",
  "iptables",
  "openssl",
  "perl",
  "procps",
  "strace",
  "stress-ng",
  "util-linux",
  "zsh",
];

/** @param {readonly string[]} names @returns {string[]} those of `names` that are not installed */
export function missingPackages(names) {
  return [...new Set(names)].filter((name) => {
    const { status, stdout } = spawnSync("dpkg-query", ["-W", "-f", "${Status}", name], { encoding: "utf8" });
    return status !== 0 || !stdout.endsWith(" installed");
  });
}

/** Makes sure that all are installed. @param {readonly string[]} names @param {(line: string) => void} say */
export function ensurePackages(names, say = (line) => process.stderr.write(`${line}\n`)) {
  const missing = missingPackages(names);
  if (missing.length === 0) return;
  const install = ["install", "-y", "--no-install-recommends", ...missing];
  if (!existsSync("/etc/debian_version") || process.getuid?.() !== 0)
    throw new Error(
      `missing: ${missing.join(", ")}. These are Debian packages; on Debian run once: sudo apt-get update && sudo apt-get ${install.join(" ")}`,
    );
  say(`installing Debian packages: ${missing.join(" ")}`);
  apt(["update"]);
  apt(install);
  const still = missingPackages(missing);
  if (still.length > 0)
    throw new Error(`apt-get said that it went well, and these are still missing: ${still.join(", ")}`);
}

/** @param {readonly string[]} args */
function apt(args) {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const { status, stdout, stderr, error } = spawnSync("apt-get", ["-q", ...args], { encoding: "utf8", env });
  if (status !== 0)
    throw new Error(`apt-get ${args.join(" ")} failed: ${stderr || stdout}${error?.message ?? ""}`.trim());
}
