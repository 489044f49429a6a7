// Scripted transcripts: every file of testdata/ plays to exactly the text it holds. After a change that is meant: REWRITE=1 npx vitest run test/simulator/protocols/transcripts.test.ts,
// and read the difference.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { playScenario } from "conclave/simulator";

const folder = fileURLToPath(new URL("../../../testdata", import.meta.url));
const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".txt"))
  .map((file) => file.split(path.sep).join("/"))
  .toSorted();

describe("a scenario plays as it is written down", () => {
  it.each(files)("%s", (file) => {
    const name = path.join(folder, file);
    const before = readFileSync(name, "utf8");
    const { text, failures } = playScenario(before);
    expect(failures).toEqual([]);
    if (process.env["REWRITE"] === undefined) expect(text).toBe(before);
    else writeFileSync(name, text);
    expect(playScenario(text).text).toBe(text);
  });
});
