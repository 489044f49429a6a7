// @ts-check
// client-go itself, for `npm run test:newer -- client-go`: Go and client-go of Debian's next suite, a candidate that is built with them, and kubectl. It starts no server:
// the tests stand on the API server of this folder, or on the cluster of KUBECONFIG. Fetching takes 110 MB, building the first time five minutes.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { cacheFolder } from "./private-apt.mjs";

const SOURCE = fileURLToPath(new URL("../../test/stores/kubernetes/client-go/candidate.go", import.meta.url));
const LIBRARY = "golang-k8s-client-go-dev";

/** @type {import("../test-newer.mjs").Newer} */
export const newer = {
  suite: "trixie",
  packages: ["golang-go", LIBRARY, "kubectl"],
  dependencies: true,
  env: (folder) => ({
    CONCLAVE_GO_CANDIDATE: build(folder),
    CONCLAVE_KUBECTL: path.join(folder, "usr/bin/kubectl"),
  }),
  version: (folder) => {
    const log = gunzipSync(readFileSync(path.join(folder, "usr/share/doc", LIBRARY, "changelog.Debian.gz"))).toString();
    const version = /\(([^)]+)\)/.exec(log)?.[1];
    if (version === undefined) throw new Error(`the changelog of ${LIBRARY} names no version`);
    return version;
  },
  runs: [{ name: "client-go", files: ["test/stores/kubernetes/client-go.test.ts"] }],
};

/** The program. What was compiled before is not compiled again. @param {string} folder */
function build(folder) {
  const root = readdirSync(path.join(folder, "usr/lib")).find((name) => /^go-\d/.test(name));
  if (root === undefined) throw new Error("Go is not among what was fetched");
  const goroot = path.join(folder, "usr/lib", root);
  const program = path.join(cacheFolder(), "go-candidate");
  process.stderr.write("building the candidate with client-go; the first time takes minutes\n");
  const env = {
    ...process.env,
    GOROOT: goroot,
    GOPATH: path.join(folder, "usr/share/gocode"),
    GO111MODULE: "off",
    GOCACHE: path.join(cacheFolder(), "go-build"),
    CGO_ENABLED: "0",
  };
  const go = path.join(goroot, "bin/go");
  const { status, stderr, error } = spawnSync(go, ["build", "-o", program, SOURCE], { encoding: "utf8", env });
  if (status !== 0) throw new Error(`the candidate was not built: ${stderr ?? ""}${error?.message ?? ""}`);
  return program;
}
