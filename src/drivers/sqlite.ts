// The record of the SQLite driver. Its guard is a table in a file of the user's.
import { existsSync } from "node:fs";
import path from "node:path";
import type { Driver } from "./driver.ts";
import { fileOf } from "../base/url.ts";

export const sqliteDriver: Driver = {
  name: "sqlite",
  schemes: ["sqlite"],
  promises: async () => {
    const { guaranteeOf } = await import("../stores/sqlite/guarantee.ts");
    return [
      { title: "`sqlite:` on Linux", guarantee: guaranteeOf("kernel") },
      { title: "`sqlite:` elsewhere", guarantee: guaranteeOf("silence") },
    ];
  },
  open: async (url) => (await import("../stores/sqlite.ts")).sqlite(url),
  guard: async (url, { table }) => {
    const [{ sqliteFence }, { openDatabaseAt }] = await Promise.all([
      import("../fencing/index.ts"),
      import("./sqlite-file.ts"),
    ]);
    const fence = sqliteFence({ table });
    const place = path.resolve(fileOf(url));
    return {
      place,
      isMissing: !existsSync(place),
      adopt: async (resource, move) => {
        const database = openDatabaseAt(place);
        try {
          return fence.adopt(database, resource, move);
        } finally {
          database.close();
        }
      },
    };
  },
};
