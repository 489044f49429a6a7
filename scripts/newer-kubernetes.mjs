// @ts-check
// Kubernetes' own API server, for `npm run test:newer -- kubernetes`. No suite of Debian has it as a package. But Debian 12 makes kubectl of the whole source of Kubernetes, and from
// that source it is built here, with Debian's Go. Fetching takes 150 MB, building the first time seven minutes and 2 GB, of which the program is kept and the rest is for the next build.
//
// One part of the source is generated before it can be built: the descriptions of all types (OpenAPI), by a program that is in the source too.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, symlinkSync } from "node:fs";
import path from "node:path";

const GO = "go-1.19";
const ROOT = "k8s.io/kubernetes";
/** Where a program of Kubernetes has its own version. The second answers /version. */
const VERSIONS = ["component-base/version", "client-go/pkg/version"];
const OPENAPI = "pkg/generated/openapi";
/** Not among what an API server describes. */
const NOT_DESCRIBED = /^vendor\/k8s\.io\/(?:code-generator|sample-[^/]+|gengo|kube-openapi)\//;
const TESTS = "test/stores/kubernetes";
/** Without the cache every list is read from etcd, and every watch is one of etcd's: the five hundred waiters of `crowd` are more than a busy machine has time for. */
const WITHOUT_CROWD = ["conformance", "faults", "incidents", "interop", "operator", "real", "rules", "server"].map(
  (name) => `${TESTS}/${name}.test.ts`,
);
const WITHOUT_CACHE = { CONCLAVE_KUBE_APISERVER_ARGS: "--watch-cache=false" };

/** @type {import("./test-newer.mjs").Newer} */
export const newer = {
  suite: "bookworm",
  packages: ["golang-1.19-go", "golang-1.19-src", "etcd-server"],
  source: "kubernetes",
  env: (folder) => ({
    CONCLAVE_KUBE_APISERVER: build(folder),
    PATH: `${path.join(folder, "usr/bin")}:${process.env["PATH"]}`,
  }),
  version: (folder) => sourceIn(folder).version,
  runs: [
    { name: "kubernetes", files: [TESTS] },
    { name: "kubernetes without a watch cache,", files: WITHOUT_CROWD, env: WITHOUT_CACHE },
  ],
};

/** The program. @param {string} folder what was fetched */
function build(folder) {
  const program = path.join(folder, "kube-apiserver");
  if (existsSync(program)) return program;
  process.stderr.write("building the API server of Kubernetes; the first time takes minutes\n");
  const { source, version } = sourceIn(folder);
  const workspace = path.join(folder, "go/src", path.dirname(ROOT));
  mkdirSync(workspace, { recursive: true });
  // Go looks for packages below a folder of this name.
  const place = path.join(workspace, path.basename(ROOT));
  if (!existsSync(place)) symlinkSync(source, place);
  const go = goIn(folder, place);
  const generator = path.join(folder, "openapi-gen");
  go(["build", "-o", generator, "./vendor/k8s.io/kube-openapi/cmd/openapi-gen"]);
  describeTypes(folder, place, generator);
  const [gitMajor, gitMinor] = version.split(".");
  const said = { gitVersion: `v${version}`, gitMajor, gitMinor };
  const flags = Object.entries(said).flatMap(([name, value]) =>
    VERSIONS.map((where) => `-X ${ROOT}/vendor/k8s.io/${where}.${name}=${value}`),
  );
  go(["build", "-ldflags", `-s -w ${flags.join(" ")}`, "-o", `${program}.new`, "./cmd/kube-apiserver"]);
  renameSync(`${program}.new`, program);
  return program;
}

/** @param {string} folder @param {string} place @param {string} generator */
function describeTypes(folder, place, generator) {
  const inputs = ["pkg", "vendor/k8s.io"]
    .flatMap((part) => goFolders(place, part))
    .filter((part) => !NOT_DESCRIBED.test(`${part}/`))
    .map((part) => `${ROOT}/${part}`);
  const args = [
    "-O",
    "zz_generated.openapi",
    "-i",
    inputs.join(","),
    "-p",
    `${ROOT}/${OPENAPI}`,
    "-h",
    "vendor/k8s.io/code-generator/hack/boilerplate.go.txt",
    "-r",
    path.join(folder, "violations"),
    "--output-base",
    path.join(folder, "go/src"),
  ];
  run(generator, args, place, environmentOf(folder));
}

/** The folders with files that ask to be described. @param {string} place @param {string} part @returns {string[]} */
function goFolders(place, part) {
  const asking = ["-r", "-l", "--include=*.go", "--exclude=*_test.go", "-F", "+k8s:openapi-gen="];
  // The folders of vendor/k8s.io are links, which grep follows only when they are named.
  const parts =
    part === "vendor/k8s.io" ? readdirSync(path.join(place, part)).map((name) => `${part}/${name}/`) : [part];
  const { stdout } = spawnSync("grep", [...asking, ...parts], { cwd: place, encoding: "utf8", maxBuffer: 1 << 26 });
  const files = stdout.split("\n").filter((file) => file !== "");
  return [...new Set(files.map((file) => path.dirname(file).replaceAll("//", "/")))].toSorted();
}

/** @param {string} folder @param {string} place */
function goIn(folder, place) {
  const go = path.join(folder, "usr/lib", GO, "bin/go");
  return (/** @type {readonly string[]} */ args) => run(go, args, place, environmentOf(folder));
}

/** @param {string} folder */
function environmentOf(folder) {
  const goroot = path.join(folder, "usr/lib", GO);
  return {
    GOROOT: goroot,
    GOPATH: path.join(folder, "go"),
    GO111MODULE: "off",
    GOCACHE: path.join(folder, "go-build"),
    GOPROXY: "off",
    CGO_ENABLED: "0",
    PATH: `${path.join(goroot, "bin")}:${process.env["PATH"]}`,
  };
}

/** PWD, because Go goes by the path with the link in it. @param {string} command @param {readonly string[]} args @param {string} cwd @param {Record<string, string>} env */
function run(command, args, cwd, env) {
  const given = { ...process.env, ...env, PWD: cwd };
  const { status, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8", env: given, maxBuffer: 1 << 26 });
  if (status !== 0)
    throw new Error(`${path.basename(command)} ${args[0]} failed: ${stderr ?? ""}${error?.message ?? ""}`);
}

/** The name of the folder has its version. @param {string} folder */
function sourceIn(folder) {
  const [name = ""] = readdirSync(path.join(folder, "source"));
  const version = /^kubernetes-(\d+\.\d+\.\d+)$/.exec(name)?.[1];
  if (version === undefined) throw new Error("the source of Kubernetes names no version");
  return { source: path.join(folder, "source", name), version };
}
