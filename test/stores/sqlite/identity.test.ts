// That the path still leads to what was opened: noticed at the next question, for each of the three files, and whichever way it has happened.
import { closeSync, copyFileSync, linkSync, mkdtempSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Identity, identify } from "../../../src/stores/sqlite/identity.ts";

const folder = mkdtempSync(path.join(tmpdir(), "conclave-identity-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let file = "";
let identity: Identity;
const open: number[] = [];
afterEach(() => open.splice(0).forEach((descriptor) => closeSync(descriptor)));

beforeEach(() => {
  file = path.join(mkdtempSync(path.join(folder, "at-")), "c.db");
  for (const suffix of ["", "-wal", "-shm"]) {
    writeFileSync(`${file}${suffix}`, suffix);
    open.push(openSync(`${file}${suffix}`, "r")); // as SQLite has it: its inode is not given to another file
  }
  identity = identify(file);
});

const HOW: readonly (readonly [what: string, change: (part: string) => void])[] = [
  ["removed", (part) => rmSync(part)],
  ["moved away", (part) => renameSync(part, `${part}.old`)],
  [
    "replaced by a copy",
    (part) => {
      copyFileSync(part, `${part}.copy`);
      renameSync(`${part}.copy`, part);
    },
  ],
  [
    "removed and made anew",
    (part) => {
      rmSync(part);
      writeFileSync(part, "");
    },
  ],
];

describe.each(["", "-wal", "-shm"])("c.db%s", (suffix) => {
  it.each(HOW)("that is %s is another", (_what, change) => {
    expect(identity.isSame()).toBe(true);
    change(`${file}${suffix}`);
    expect(identity.isSame()).toBe(false);
    identity.close();
  });
});

it("a folder that was moved leads there no more", () => {
  renameSync(path.dirname(file), `${path.dirname(file)}.old`);
  expect(identity.isSame()).toBe(false);
  identity.close();
});

it("a log that is found again under its name is the same, though the kernel remembers that the name was removed", () => {
  linkSync(`${file}-wal`, `${file}.second`);
  rmSync(`${file}-wal`);
  expect(identity.isSame()).toBe(false);
  renameSync(`${file}.second`, `${file}-wal`);
  expect(identity.isSame()).toBe(true);
  identity.close();
});

it("a log that is written to is the same", () => {
  writeFileSync(`${file}-wal`, "more");
  expect(identity.isSame()).toBe(true);
  identity.close();
});
