// Every patch that takes a defence out fits the sources as they are. A patch that no longer fits takes nothing out, and whoever tries it learns so only after many minutes.
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { applyToText, parsePatch } from "../scripts/apply-patch.mjs";

const root = path.join(import.meta.dirname, "..");
const folders = ["test/mutants", "test/mutants/protocols", "test/defences"];

/** What is wrong with the patch; undefined if it fits and changes something. */
function flawOf(file: string): string | undefined {
  try {
    for (const each of parsePatch(readFileSync(path.join(root, file), "utf8"))) {
      const text = readFileSync(path.join(root, each.file), "utf8");
      if (applyToText(text, each) === text) return `${file}: changes nothing in ${each.file}`;
    }
    return undefined;
  } catch (error) {
    return `${file}: ${(error as Error).message}`;
  }
}

it.each(folders)("every patch in %s fits the sources", (folder) => {
  const patches = readdirSync(path.join(root, folder)).filter((file) => file.endsWith(".patch"));
  expect(patches.length).toBeGreaterThan(30);
  expect(patches.map((file) => flawOf(`${folder}/${file}`)).filter((flaw) => flaw !== undefined)).toEqual([]);
});
