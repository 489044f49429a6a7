// What package.json exports: modules that are there, every driver, and what the pages speak of. The other rules of the repository are in tidy.test.ts. Reads only.
import { describe, expect, it } from "vitest";
import { completed, publicModules, readManifest } from "../scripts/exports.mjs";
import { files, NOT_A_DRIVER, read } from "./support/repository.ts";

describe("package.json", () => {
  it("exports only modules that exist in src", () => {
    const problems = publicModules()
      .filter(({ source }) => !files.includes(source))
      .map(({ name, source }) => `package.json: ${name} needs ${source}, which does not exist`);
    expect(problems).toEqual([]);
  });

  it("spells every export in full, in the order that makes it one copy; if this fails: node scripts/exports.mjs", () => {
    expect(JSON.stringify(readManifest(), null, 2)).toBe(JSON.stringify(completed(readManifest()), null, 2));
  });

  it("exports every driver in src/stores", () => {
    const exported = publicModules().map(({ source }) => source);
    const problems = files
      .filter((file) => /^src\/stores\/[^/]+\.ts$/.test(file) && !NOT_A_DRIVER.includes(file))
      .filter((file) => !exported.includes(file))
      .map((file) => `${file}: has no subpath in package.json; export it, or add it to NOT_A_DRIVER`);
    expect(problems).toEqual([]);
  });

  it("exports only what docs/ARCHITECTURE.md speaks of", () => {
    expect(files).toContain("docs/ARCHITECTURE.md");
    const page = read("docs/ARCHITECTURE.md");
    const problems = publicModules()
      .filter(({ name }) => !new RegExp(`(?<![\\w/-])${name}(?![\\w/-])`).test(page))
      .map(({ name }) => `docs/ARCHITECTURE.md: does not mention ${name}`);
    expect(problems).toEqual([]);
  });
});
