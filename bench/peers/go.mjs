// @ts-check
// Builds the peer that is written in Go, if Go and etcd's client for it are there. Debian has both: apt-get install golang-go golang-etcd-server-dev.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** Where Debian keeps sources of Go packages. */
const GOPATH = "/usr/share/gocode";
const CLIENT = path.join(GOPATH, "src/go.etcd.io/etcd/clientv3/concurrency");
const HOW = "Go's client is left out: apt-get install golang-go golang-etcd-server-dev brings both (900 MB)";

/** @typedef {{ program: string, remove: () => void }} Built */

/** @returns {Built | { missing: string }} */
export function buildGoPeer() {
  if (spawnSync("go", ["version"]).status !== 0) return { missing: `Go is not installed: ${HOW}` };
  if (!existsSync(CLIENT)) return { missing: `etcd's client for Go is not in ${GOPATH}: ${HOW}` };
  const folder = mkdtempSync(path.join(tmpdir(), "conclave-go-"));
  const program = path.join(folder, "go-etcd");
  const source = fileURLToPath(new URL("go-etcd.go", import.meta.url));
  const env = { ...process.env, GO111MODULE: "off", GOPATH };
  const { status, stderr } = spawnSync("go", ["build", "-o", program, source], { encoding: "utf8", env });
  const remove = () => rmSync(folder, { recursive: true, force: true });
  if (status === 0) return { program, remove };
  remove();
  throw new Error(`bench/peers/go-etcd.go was not built: ${stderr}`);
}
