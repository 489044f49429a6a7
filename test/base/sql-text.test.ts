import { describe, expect, it } from "vitest";
import { filled, statementsOf } from "../../src/base/sql-text.ts";

describe("a file of statements", () => {
  const statement = statementsOf(`-- What is in it.

-- FIRST
-- ← nothing. → one row.
SELECT 1 -- a remark
  AS one;

-- SECOND_ONE
SELECT 2;
`);

  it("gives each by its name, without the comments before it", () => {
    expect([statement("FIRST"), statement("SECOND_ONE")]).toEqual(["SELECT 1 -- a remark\n  AS one", "SELECT 2"]);
  });

  it("says so when there is none of a name", () => {
    expect(() => statement("THIRD")).toThrow("a statement is named THIRD");
  });
});

describe("places in a text", () => {
  it("are filled, and the tags of quotes are left alone", () => {
    expect(filled("DO $body$ SELECT $body $body$; -- $1", { body: "now()" })).toBe(
      "DO $body$ SELECT now() $body$; -- $1",
    );
  });

  it("are not looked for in what was filled in, whatever signs it has", () => {
    expect(filled("GRANT $schema TO $role", { schema: "own", role: '"$schema $& $$"' })).toBe(
      'GRANT own TO "$schema $& $$"',
    );
  });

  it("need a value", () => {
    expect(() => filled("SELECT $most", {})).toThrow("there is a value for $most");
  });
});
