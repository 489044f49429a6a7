// What each driver of this version promises: the guarantee of a store that is made from its record. No server is asked, because making a store asks none.
import { DRIVERS } from "../../src/drivers/registry.ts";
import type { Guarantee } from "conclave/stores/contract";

/** One row of the tables in README.md and docs/GUARANTEES.md. */
export interface Promised {
  readonly driver: string;
  /** As in a heading: `etcd:`. */
  readonly title: string;
  readonly guarantee: Guarantee;
}

/** In the order of the registry. Awaited here, so that a script has all of it when it has this module. */
export const promised: readonly Promised[] = await Promise.all(
  DRIVERS.flatMap((driver) => {
    const { name, schemes, port = 1 } = driver;
    const usual = [{ title: `\`${name}:\``, url: `${schemes[0]}://127.0.0.1:${port}/conclave` }];
    return (driver.samples ?? usual).map(async ({ title, url }) => {
      const store = await driver.open(url);
      const { guarantee } = store;
      await store.close();
      return { driver: name, title, guarantee };
    });
  }),
);
