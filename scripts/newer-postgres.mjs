// @ts-check
// PostgreSQL 17 of Debian trixie on an older Debian, for `npm run test:newer`. Its programs need trixie's C library, which must not take the place of the machine's own:
// so the packages with its libraries are unpacked beside it, and each program is replaced by a script that runs it through trixie's own loader. It finds its
// other programs and its files by the path of that script.
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";

const LIBRARIES = `
  libc6 libgcc-s1 libstdc++6 zlib1g liblz4-1 libzstd1 liblzma5 libxxhash0 libnuma1 libssl3t64 libicu76 libxml2
  libldap2 libsasl2-2 libpam0g libaudit1 libcap-ng0 libcap2 libgssapi-krb5-2 libkrb5-3 libk5crypto3
  libkrb5support0 libcom-err2 libkeyutils1 libselinux1 libpcre2-8-0 libsystemd0 libreadline8t64 libtinfo6
`
  .trim()
  .split(/\s+/);
const PROGRAMS = "usr/lib/postgresql/17/bin";
const LIBRARY_FOLDER = "usr/lib/x86_64-linux-gnu";
/** As root, PostgreSQL runs as another user, who does not reach the cache of this one. */
const FOR_EVERYBODY = "/var/tmp/conclave-postgres-17";

/** @type {import("./test-newer.mjs").Newer} */
export const newer = {
  suite: "trixie",
  packages: ["postgresql-17", "postgresql-client-17", "libpq5", ...LIBRARIES],
  env: (folder) => ({ CONCLAVE_POSTGRES_BIN: path.join(madeReady(folder), PROGRAMS) }),
  version: (folder) => {
    if (process.arch !== "x64") throw new Error("PostgreSQL 17 is fetched for x64 only");
    const postgres = path.join(madeReady(folder), PROGRAMS, "postgres");
    const { stdout } = spawnSync(postgres, ["--version"], { encoding: "utf8" });
    const version = /^postgres \(PostgreSQL\) (\S+)/.exec(stdout ?? "")?.[1];
    if (version === undefined) throw new Error("the PostgreSQL that was fetched does not run here");
    return version;
  },
  runs: [{ name: "postgres", files: ["test/stores/postgres", "test/fencing/postgres", "test/failover/postgres"] }],
};

/** The folder in which its programs can be run. @param {string} fetched @returns {string} */
function madeReady(fetched) {
  const folder = process.getuid?.() === 0 ? copyOf(fetched) : fetched;
  // Without this file PostgreSQL does not compile queries at run time, and does not look for LLVM, which has 120 MB.
  rmSync(path.join(folder, PROGRAMS, "../lib/llvmjit.so"), { force: true });
  const programs = path.join(folder, PROGRAMS);
  for (const name of readdirSync(programs)) {
    const program = path.join(programs, name);
    if (name.endsWith(".program") || existsSync(`${program}.program`)) continue;
    renameSync(program, `${program}.program`);
    const libraries = path.join(folder, LIBRARY_FOLDER);
    const loader = path.join(libraries, "ld-linux-x86-64.so.2");
    const script = `#!/bin/sh\nexec '${loader}' --argv0 "$0" --library-path '${libraries}' '${program}.program' "$@"\n`;
    writeFileSync(program, script);
    chmodSync(program, 0o755);
  }
  return folder;
}

/** @param {string} fetched @returns {string} */
function copyOf(fetched) {
  if (!existsSync(FOR_EVERYBODY)) {
    const aside = `${FOR_EVERYBODY}.${process.pid}`;
    const { status } = spawnSync("cp", ["-a", fetched, aside]);
    if (status !== 0) throw new Error(`PostgreSQL could not be copied to ${aside}`);
    chmodSync(aside, 0o755);
    renameSync(aside, FOR_EVERYBODY);
  }
  if (statSync(FOR_EVERYBODY).uid !== 0) throw new Error(`${FOR_EVERYBODY} is not root's: remove it`);
  return FOR_EVERYBODY;
}
