// The records of the drivers, and that everything a driver consists of is there: the list stands in CONTRIBUTING.md, and is read from it.
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { readServers, serverNamed } from "../../scripts/server-list.mjs";
import { DRIVERS, driverOf, PLANNED } from "../../src/drivers/registry.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (file: string): string => readFileSync(path.join(root, file), "utf8");
const section = read("CONTRIBUTING.md").split("## Adding a store")[1]?.split("\n## ")[0] ?? "";
/** The numbered steps that begin with one or more paths. */
const STEPS = section
  .split("\n")
  .flatMap((line) => /^\d+\. ((?:`[^`]+`(?: or )?)+):/.exec(line)?.[1] ?? [])
  .map((paths) => [...paths.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? ""));

describe("CONTRIBUTING's list of what a driver consists of", () => {
  it("names the files of the driver, its record, its tests, its server and its page", () => {
    expect(STEPS).toEqual([
      ["src/stores/NAME.ts"],
      ["src/drivers/NAME.ts"],
      ["test/stores/NAME.test.ts", "test/stores/NAME/"],
      ["scripts/servers/SERVER.mjs"],
      ["docs/stores/NAME.md"],
    ]);
  });

  it.each(DRIVERS.map((driver) => [driver.name, driver] as const))("is complete for %s", (name, driver) => {
    const missing = STEPS.filter((paths) => {
      const files = paths.map((each) => each.replace("NAME", name).replace("SERVER", driver.server ?? ""));
      const isNeeded = driver.server !== undefined || !paths.some((each) => each.includes("SERVER"));
      return isNeeded && !files.some((file) => existsSync(path.join(root, file)));
    });
    expect(missing).toEqual([]);
    expect(read("package.json")).toContain(`"./stores/${name}"`);
    expect(read("docs/ARCHITECTURE.md")).toContain(`conclave/stores/${name}`);
    expect(read("knip.json")).toContain(`stores/${name}`);
  });
});

describe("npm run servers", () => {
  it("lists the server of each record, and those beside the stores", async () => {
    const ofStores = DRIVERS.flatMap(({ server }) => server ?? []);
    expect([...(await readServers()).keys()]).toEqual([...ofStores, "ipmi", "pgbouncer"].toSorted());
  });

  it("takes the name of a store or a scheme for its server, and says why there is no other", async () => {
    for (const { name, schemes, server } of DRIVERS)
      for (const word of [name, ...schemes]) {
        if (server === undefined) await expect(serverNamed(word)).rejects.toThrow(`${name} needs no server`);
        else expect(await serverNamed(word)).toBe(server);
      }
    for (const word of PLANNED) await expect(serverNamed(word)).rejects.toThrow(`no driver for ${word} yet`);
    await expect(serverNamed("nothing")).rejects.toThrow("which one? dynamodb, etcd");
  });
});

describe("a driver", () => {
  it("is found by each of its schemes, and no scheme is two drivers'", () => {
    const schemes = DRIVERS.flatMap((driver) => driver.schemes);
    expect(new Set(schemes).size).toBe(schemes.length);
    for (const driver of DRIVERS)
      for (const scheme of driver.schemes) expect(driverOf(`${scheme.toUpperCase()}://host`)).toBe(driver);
    expect(driverOf("nothing")).toBeUndefined();
    expect(schemes.filter((scheme) => PLANNED.has(scheme))).toEqual([]);
  });
});
