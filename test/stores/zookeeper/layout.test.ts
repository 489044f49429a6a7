// Names, GUIDs and lines, without a server.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { asBid } from "conclave/stores/contract";
import { zookeeper } from "conclave/stores/zookeeper";
import {
  decodeName,
  encodeName,
  entryPrefix,
  LAYOUTS,
  readLine,
  sessionPrefix,
} from "../../../src/stores/zookeeper/layout.ts";

const SESSION = "0123456789abcdef";

describe("a name", () => {
  it("is one part of a path that ZooKeeper takes, and comes back as it was", () => {
    const name = fc.string({ unit: "binary", maxLength: 40 }).filter((text) => !/[\0\p{Surrogate}]/u.test(text));
    fc.assert(
      fc.property(name, (text) => {
        const part = encodeName(text);
        expect(decodeName(part)).toBe(text);
        expect(part).not.toMatch(/[/\p{Control}\p{Surrogate}\p{Private_Use}\ufff0-\uffff]/u);
        expect(["", ".", "..", ".conclave", "zookeeper"]).not.toContain(part);
      }),
    );
  });

  it.each([".", "..", ".conclave", "zookeeper", ""])("that is taken is written in another way: %j", (name) => {
    expect(decodeName(encodeName(name))).toBe(name);
    expect(encodeName(name)).not.toBe(name);
  });
});

describe.each(LAYOUTS)("the layout %s", (layout) => {
  const node = (bid: string, sequence: string): string => `${entryPrefix(layout, SESSION, asBid(bid))}${sequence}`;

  it("sorts by the number alone", () => {
    const children = [node("b", "0000000012"), node("a", "0000000013"), node("c", "0000000002")];
    expect(readLine(layout, "/x", children).map(({ sequence }) => sequence)).toEqual([2, 12, 13]);
  });

  it("tells the entries of a session, and of a bid", () => {
    expect(node("a", "0000000001").startsWith(sessionPrefix(layout, SESSION))).toBe(true);
    expect(node("a", "0000000001").startsWith(sessionPrefix(layout, "f".repeat(16)))).toBe(false);
    expect(entryPrefix(layout, SESSION, asBid("a"))).not.toBe(entryPrefix(layout, SESSION, asBid("b")));
  });

  it("refuses a line whose counter is at its end, by any of its entries, and children of other layouts", () => {
    expect(readLine(layout, "/x", [node("a", "2147483646")])).toHaveLength(1);
    for (const spent of ["2147483647", "-2147483648", "-000000005"]) {
      expect(() => readLine(layout, "/x", [node("a", spent)])).toThrow(/is at its end/);
      expect(() => readLine(layout, "/x", [node("a", "2147483646"), node("b", spent)])).toThrow(/is at its end/);
    }
    for (const other of LAYOUTS.filter((each) => each !== layout))
      expect(() => readLine(layout, "/x", [`${entryPrefix(other, SESSION, asBid("a"))}0000000001`])).toThrow(
        new RegExp(`layout "${other}".*Nothing was written`),
      );
  });
});

describe("a URL", () => {
  it.each([
    ["etcd://h", /a URL is zookeeper:\/\//],
    ["zookeeper://h:99999", /is not host:port/],
    ["zookeeper://h/a//b", /the chroot is a path/],
    ["zookeeper://h?tickms=5", /"tickms" is not a setting/],
    ["zookeeper://h?ca=x", /belongs to TLS: write zookeepers:/],
    ["zookeeper://h?tickMs=soon", /is not a number of milliseconds/],
    ["zookeeper://h?layout=etcd", /latch, selector, kazoo are/],
    ["zookeeper://h?acl=creator", /acl creator needs a user: write user and password into the URL/],
    ["zookeeper://h?acl=none", /open, creator are/],
  ])("that cannot work is refused with what to write: %s", (url, message) => {
    expect(() => zookeeper(url)).toThrow(message);
  });

  it("carries the options, so that another process opens the same", () => {
    const { url, guarantee } = zookeeper("zookeeper://a:1,b:2/app", { tickMs: 500, layout: "kazoo" });
    expect(url).toBe("zookeeper://a:1,b:2/app?tickMs=500&layout=kazoo");
    expect(guarantee).toMatchObject({ ttl: { minMs: 2000 }, proofWithinMs: 250, proofApartMs: 500 });
    expect(() => zookeeper(url, { tickMs: 600 })).toThrow(/another in the URL/);
  });
});
