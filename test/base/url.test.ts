// A store's URL as it may be shown: without user and password.
import { describe, expect, it } from "vitest";
import { withoutPassword } from "../../src/base/url.ts";

describe("a store's URL as it is shown", () => {
  it.each([
    ["postgres://user:secret@db:5432/shop?sslpassword=secret", "postgres://db:5432/shop"],
    ["postgres://user:se/cr@et@db/shop", "postgres://db/shop"],
    ["redis://:secret@a:1,redis://:secret@b:2", "redis://b:2"],
    ["sqlite:/var/lib/a@b.db?binding=libsql", "sqlite:/var/lib/a@b.db?binding=libsql"],
    ["memory:", "memory:"],
  ])("%s", (url, shown) => {
    expect(withoutPassword(url)).toBe(shown);
  });
});
