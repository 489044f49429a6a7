// What is promised is on the disk, and its name too, before anybody is told: the transcript of what durableFence and fileFence do to the disk, in order.
import type * as Synchronous from "node:fs";
import type * as FileSystem from "node:fs/promises";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import { durableFence, fileFence } from "conclave/fencing";
import { by } from "./tokens.ts";

const told = vi.hoisted(() => ({ lines: [] as string[], folder: "" }));
const shown = vi.hoisted(() => (file: unknown): string => {
  const name = String(file).slice(told.folder.length + 1);
  return name === "" ? "the folder" : name.replace(/tmp-\d+-\d+/, "tmp");
});

vi.mock("node:fs/promises", async (importOriginal) => {
  const real = await importOriginal<typeof FileSystem>();
  const open: typeof real.open = async (name, ...rest) => {
    const file = await real.open(name, ...rest);
    const sync = file.sync.bind(file);
    file.sync = async () => {
      told.lines.push(`sync ${shown(name)}`);
      await sync();
    };
    return file;
  };
  const link: typeof real.link = async (from, to) => {
    told.lines.push(`link ${shown(to)}`);
    await real.link(from, to);
  };
  const rename: typeof real.rename = async (from, to) => {
    told.lines.push(`rename ${shown(from)} to ${shown(to)}`);
    await real.rename(from, to);
  };
  return { ...real, open, link, rename };
});

vi.mock("node:fs", async (importOriginal) => {
  const real = await importOriginal<typeof Synchronous>();
  const names = new Map<number, unknown>();
  const openSync: typeof real.openSync = (name, ...rest) => {
    const descriptor = real.openSync(name, ...rest);
    names.set(descriptor, name);
    return descriptor;
  };
  const fsyncSync: typeof real.fsyncSync = (descriptor) => {
    told.lines.push(`sync ${shown(names.get(descriptor))}`);
    real.fsyncSync(descriptor);
  };
  const renameSync: typeof real.renameSync = (from, to) => {
    told.lines.push(`rename ${shown(from)} to ${shown(to)}`);
    real.renameSync(from, to);
  };
  return { ...real, openSync, fsyncSync, renameSync };
});

const folders: string[] = [];
function newFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "conclave-synced-"));
  folders.push(folder);
  Object.assign(told, { folder, lines: [] });
  return folder;
}
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

it("durableFence: the note, its name, and then the operation", async () => {
  const fence = durableFence(newFolder());
  await fence.run("ledger", by(1), () => void told.lines.push("the operation"));
  const note = ["sync ledger.fence.json.tmp", "rename ledger.fence.json.tmp to ledger.fence.json", "sync the folder"];
  expect(told.lines).toEqual([...note, "the operation"]);
  told.lines = [];
  await fence.run("ledger", by(1), () => void told.lines.push("the operation"));
  expect(told.lines).toEqual(["the operation"]);
});

it("fileFence: each file before its name, and each name before the next step", async () => {
  const fence = fileFence(newFolder(), "ledger");
  const named = (position: string, name: string): readonly string[] => [
    `sync ledger@${position}@tmp`,
    `link ledger@${name}`,
    "sync the folder",
  ];
  await fence.raise(by(1));
  expect(told.lines).toEqual([...named("0@0", "0@era"), ...named("0@1", "0@1@claim"), "sync the folder"]);
  told.lines = [];
  await fence.write("a", by(1));
  expect(told.lines).toEqual(["sync ledger@0@1@tmp", "rename ledger@0@1@tmp to ledger@0@1", "sync the folder"]);
  told.lines = [];
  await fence.raise(by(2));
  const takenOver = ["link ledger@0@2@tmp", "link ledger@0@2", "sync the folder"];
  expect(told.lines).toEqual([...named("0@2", "0@2@claim"), ...takenOver]);
});
