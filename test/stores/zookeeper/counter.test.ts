// A line whose counter comes to its end, on a real server. It would take two thousand million candidates, so the server begins with a snapshot in which almost so many have been there.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { asBid, type Call, type Claimed } from "conclave/stores/contract";
import { zookeeper } from "conclave/stores/zookeeper";
import { parseAddress } from "../../../src/clients/zookeeper/address.ts";
import { ZooKeeperClient } from "../../../src/clients/zookeeper/client.ts";
import {
  createRequest,
  EPHEMERAL_SEQUENTIAL,
  getChildrenRequest,
  OPEN_ACL,
  readChildren,
  readCreated,
} from "../../../src/clients/zookeeper/messages.ts";
import type { ZooKeeperSession } from "../../../src/clients/zookeeper/session.ts";
import { LAYOUTS } from "../../../src/stores/zookeeper/layout.ts";
import * as server from "../../../scripts/servers/zookeeper.mjs";
import type { Servers } from "../../support/servers.ts";
import { urlOf } from "./zookeeper.ts";

/** The last numbers are 2147483645, 2147483646, and 2147483647 for all that come then. */
const COUNTER = "2147483645";
const folder = mkdtempSync(path.join(tmpdir(), "conclave-counter-"));
let servers: Servers;
let hand: ZooKeeperSession;
const signal = (): AbortSignal => AbortSignal.timeout(10_000);
const call = (): Call => ({ signal: signal(), sentAtMs: performance.now() });

beforeAll(async () => {
  const [classes, data] = [path.join(folder, "classes"), path.join(folder, "n0")];
  mkdirSync(data, { recursive: true });
  const source = fileURLToPath(new URL("SpentCounter.java", import.meta.url));
  execFileSync("ecj", ["-17", "-nowarn", "-proc:none", "-cp", server.classPath, "-d", classes, source]);
  const paths = ["hand", ...LAYOUTS].map((name) => `/${name}`);
  const program = ["-cp", `${classes}:${server.classPath}`, "SpentCounter", data, COUNTER, ...paths];
  execFileSync("java", program, { stdio: "pipe" });
  servers = await server.start({ folder });
  hand = await new ZooKeeperClient(parseAddress(servers.urls[0] ?? "", ["tickMs"])).begin(8000, signal());
}, 120_000);
afterAll(async () => {
  await hand.end(signal());
  await servers.stop();
  rmSync(folder, { recursive: true });
}, 60_000);

it("a server gives the last number again and again", async () => {
  const numbers: string[] = [];
  for (const name of ["a", "b", "c", "d", "e"]) {
    const request = createRequest(`/hand/${name}-`, Buffer.alloc(0), OPEN_ACL, EPHEMERAL_SEQUENTIAL);
    numbers.push((await hand.ask(request, readCreated, signal())).path.slice("/hand/x-".length));
  }
  expect(numbers).toEqual(["2147483645", "2147483646", "2147483647", "2147483647", "2147483647"]);
});

it.each(LAYOUTS)(
  "in the layout %s, one candidate leads, and whoever comes after the end is refused",
  async (layout) => {
    const store = zookeeper(urlOf(servers), { layout });
    const answers: Claimed[] = [];
    for (let n = 0; n < 8; n++) {
      const kept = await store.keep({ nonce: `n${n}`, candidate: `c${n}`, ttlMs: 8000 }, [], call());
      if (kept.kind !== "kept") throw new Error(kept.kind);
      answers.push(
        ...(await store.claim([{ session: kept.session, name: layout, bid: asBid(`b${n}`), value: "" }], call())),
      );
    }
    const [first, second, ...others] = answers;
    expect(first).toMatchObject({ kind: "granted" });
    expect(second).toMatchObject({ kind: "waiting", ahead: 1 });
    const code = "STORE_UNSUPPORTED";
    expect(others).toEqual(others.map(() => expect.objectContaining({ kind: "refused", code, retryable: false })));
    expect((await hand.ask(getChildrenRequest(`/${layout}`, false), readChildren, signal())).names).toHaveLength(2);
    await store.close();
  },
);
