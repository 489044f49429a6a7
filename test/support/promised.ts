// What each driver of this version promises, as its record says. No server is asked.
import type { Driver, PromisedStore } from "../../src/drivers/driver.ts";
import { DRIVERS } from "../../src/drivers/registry.ts";

/** One row of the tables in README.md and docs/GUARANTEES.md. */
export interface Promised extends PromisedStore {
  readonly driver: string;
}

/** In the order of the registry. Awaited here, so that a script has all of it when it has this module. */
export const promised: readonly Promised[] = (
  await Promise.all(
    DRIVERS.map(async (driver) =>
      (await (driver.promises?.() ?? usual(driver))).map((each) => ({ ...each, driver: driver.name })),
    ),
  )
).flat();

async function usual({ name, schemes, port, open }: Driver): Promise<readonly PromisedStore[]> {
  const place = port === undefined ? "conclave" : `127.0.0.1:${port}/conclave`;
  const store = await open(`${schemes[0]}://${place}`).catch((cause: unknown) => {
    throw new Error(`src/drivers/${name}.ts needs \`promises\`, as the other drivers have it: what its guarantee is`, {
      cause,
    });
  });
  const { guarantee } = store;
  await store.close();
  return [{ title: `\`${name}:\``, guarantee }];
}
