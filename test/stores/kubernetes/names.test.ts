// Names of elections as names of Leases: what RFC 1123 allows stays, everything else is mapped, and no two share a Lease.
import fc from "fast-check";
import { expect, it } from "vitest";
import { leaseNameOf } from "../../../src/stores/kubernetes/names.ts";

const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

it("keeps a name that Kubernetes allows", () => {
  for (const name of ["nightly-billing", "a.b.c", "0", "x".repeat(253)]) expect(leaseNameOf(name)).toBe(name);
});

it("maps every other name to one that can be read, and that ends with a digest", () => {
  expect(leaseNameOf("Nightly Billing")).toMatch(/^nightly-billing\.x-[0-9a-f]{32}$/);
  expect(leaseNameOf("選挙")).toMatch(/^name\.x-[0-9a-f]{32}$/);
  expect(leaseNameOf("-a-")).toMatch(/^a\.x-[0-9a-f]{32}$/);
  expect(leaseNameOf("x".repeat(254))).toMatch(/^x{60}\.x-[0-9a-f]{32}$/);
});

it("maps a name that looks like a mapped one, so that nobody can choose another's Lease", () => {
  const mapped = leaseNameOf("Nightly Billing");
  expect(leaseNameOf(mapped)).not.toBe(mapped);
});

it("gives every name a Lease of its own, of a name that Kubernetes allows", () => {
  const names = fc.string({ unit: "grapheme", minLength: 1, maxLength: 200 }).filter((name) => !name.includes("\0"));
  fc.assert(
    fc.property(names, names, (a, b) => {
      const [first, second] = [leaseNameOf(a), leaseNameOf(b)];
      expect(first).toMatch(SUBDOMAIN);
      expect(first.length).toBeLessThanOrEqual(253);
      expect(first === second).toBe(a === b);
    }),
    { numRuns: 500 },
  );
});
