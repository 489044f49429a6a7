// What README.md and docs/GUARANTEES.md say of the stores is what their guarantees say: both tables are written from this data, and compared with it here.
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { longTables, promisePages, shortTable, withBlock } from "../../scripts/guarantees.mjs";
import { DRIVERS } from "../../src/drivers/registry.ts";
import { promised, type Promised } from "../support/promised.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (file: string): string => readFileSync(path.join(root, file), "utf8");
const [first] = promised as readonly [Promised];
/** A store that could be, but for what is changed. */
const like = (changed: Partial<Promised["guarantee"]>): readonly Promised[] => [
  { driver: "other", title: "`other:`", guarantee: { ...first.guarantee, ...changed } },
];

describe("the tables of what stores promise", () => {
  it("are those of the data: node scripts/api.mjs writes them", () => {
    for (const [file, text] of promisePages(promised, read)) expect(read(file), `${file} is out of date`).toBe(text);
  });

  it("have every driver, with a whole sentence for every fault", () => {
    expect([...new Set(promised.map(({ driver }) => driver))]).toEqual(DRIVERS.map(({ name }) => name));
    for (const { title, guarantee } of promised)
      for (const sentence of Object.values(guarantee.under))
        expect([title, sentence]).toEqual([title, expect.stringMatching(/^[A-Z`a-z].*[.]$/)]);
  });

  it("have no sentence that would break a table", () => {
    for (const { guarantee } of promised) expect(JSON.stringify(guarantee.under)).not.toMatch(/\\n|[|]/);
  });

  it("change when a guarantee changes", () => {
    const under = { ...first.guarantee.under, partition: "Two may lead, for ever." };
    expect(longTables(like({ under }))).toContain("| the network is cut | Two may lead, for ever. |");
    expect(longTables(like({ earlyEnds: ["the moon is full"] }))).toContain("A lease may end early: the moon is full.");
    expect(shortTable(like({ cap: "AP: it always answers." }))).toContain("| AP |");
    expect(withBlock(read("README.md"), "other")).not.toBe(read("README.md"));
  });

  it("call a store without tokens fit only for what may run twice", () => {
    const row = shortTable(like({ fencing: "unfenced", scope: "network" }))
      .split("\n")
      .at(-1);
    expect(row?.split(" | ").slice(3)).toEqual(["no", "yes", "yes", "no", "no |"]);
    expect(longTables(like({ scope: "host" }))).toContain("| a seat is sold twice | behind a guard, on one host |");
  });
});
