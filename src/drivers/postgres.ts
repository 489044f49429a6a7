// The record of the PostgreSQL driver.
import { ConclaveError } from "../base/errors.ts";
import { withoutPassword } from "../base/url.ts";
import type { Driver } from "./driver.ts";

export const postgresDriver: Driver = {
  name: "postgres",
  schemes: ["postgres", "postgresql"],
  port: 5432,
  server: "postgres",
  promises: async () => {
    const { guaranteeOf } = await import("../stores/postgres/guarantee.ts");
    return [
      { title: "`postgres:`", guarantee: guaranteeOf("silence") },
      { title: '`postgres:` with `expiry: "database-clock"`', guarantee: guaranteeOf("database-clock") },
    ];
  },
  open: async (url) => (await import("../stores/postgres.ts")).postgres(url),
  schema: async ({ schema, role, fence }) => {
    const [{ postgresSchema }, { postgresFence }] = await Promise.all([
      import("../stores/postgres.ts"),
      import("../fencing/postgres.ts"),
    ]);
    const forRole =
      role === undefined ? "" : `GRANT SELECT, INSERT, UPDATE ON conclave_fence TO "${role.replaceAll('"', '""')}";\n`;
    return `${postgresSchema({ schema, role })}${fence ? `${postgresFence().schema()}${forRole}` : ""}`;
  },
  guard: async (url, { table }) => {
    const [{ postgresFence }, { transact }, { problemOfUrl }] = await Promise.all([
      import("../fencing/postgres.ts"),
      import("../clients/postgres/transact.ts"),
      import("../clients/postgres/url.ts"),
    ]);
    const problem = problemOfUrl(url);
    if (problem !== undefined) throw new ConclaveError("CONFIG_INVALID", `postgres: ${problem}`);
    const fence = postgresFence({ table });
    return {
      place: withoutPassword(url),
      isMissing: false,
      adopt: (resource, move) => transact(url, (transaction) => fence.adopt(transaction, resource, move)),
    };
  },
};
