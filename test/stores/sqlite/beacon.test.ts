// What proves a death on `sqlite:`, and where the socket lies that proves it: only a refusal of exactly the recorded socket, in a folder that is nobody else's.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { sqlite } from "conclave/stores/sqlite";
import { Beacon, sweep } from "../../../src/stores/sqlite/beacon.ts";
import { idOf } from "../../../src/stores/sqlite/file-system.ts";
import type { Sitter } from "../../../src/stores/sqlite/place.ts";
import { evidenceOf, probe } from "../../../src/stores/sqlite/probe.ts";
import { hold, open } from "../moves.ts";

const folder = mkdtempSync(path.join(tmpdir(), "conclave-beacon-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = (): string => path.join(folder, `${++files}.db`);

describe("a socket", () => {
  it("whose process is too busy to take a connection, or stopped, proves nothing", async () => {
    const place = path.join(folder, "busy.sock");
    const server = createServer();
    await new Promise<void>((resolve) => server.listen({ path: place, backlog: 1 }, resolve));
    const socket = { path: place, file: idOf(place) ?? "" };
    // All of them in one turn: nobody accepts in between, and the kernel takes no more than two.
    const lives = await Promise.all(Array.from({ length: 20 }, () => probe(socket)));
    expect(lives).toContain("unknown");
    expect(lives).not.toContain("dead");
    await new Promise((resolve) => server.close(resolve));
  });

  it("whose path is longer than the kernel takes is no evidence: what refuses would be another file", () => {
    const kernel = { boot: "b", clock: "c" };
    const sitterAt = (place: string): Sitter => ({
      session: "s",
      candidate: "c",
      bid: "b.1" as Sitter["bid"],
      token: 1n,
      value: "",
      ttlMs: 1000,
      ...kernel,
      expiresMs: 0,
      socket: { path: place, file: "1:1" },
    });
    expect(evidenceOf(sitterAt("/tmp/short.sock"), kernel)).toMatchObject({ path: "/tmp/short.sock" });
    expect(evidenceOf(sitterAt(`/tmp/${"x".repeat(120)}.sock`), kernel)).toBeUndefined();
  });

  it("does not lie in a folder that others may write to", async () => {
    const file = newFile();
    mkdirSync(`${file}-life`);
    chmodSync(`${file}-life`, 0o777);
    const store = sqlite(file);
    await hold(store, await open(store), "x");
    expect(readdirSync(`${file}-life`)).toEqual([]);
    await store.close();
  });
});

describe("a sweep", () => {
  it("removes what a dead process has left, and leaves the socket of one that lives though no session names it", async () => {
    const file = newFile();
    const beacon = await Beacon.light(file, "sqlite-0123456789ab");
    if (beacon === undefined) throw new Error("there is no place for a beacon");
    const left = path.join(path.dirname(beacon.socket.path), "0123456789ab-left.sock");
    writeFileSync(left, ""); // nobody listens on it
    await sweep(file, "sqlite-0123456789ab", []);
    expect(existsSync(left)).toBe(false);
    expect(beacon.isFound()).toBe(true);
    beacon.putOut();
    expect(beacon.isFound()).toBe(false);
  });
});
