// `conclave schema postgres`: the SQL that an owner of the database runs once, on stdout and nothing else, so that it can be piped into psql. Connects to
// nothing. What it makes, and which rights a candidate needs, is said in the SQL's own comments.
import { DRIVERS } from "../drivers/registry.ts";
import { UsageError, YES } from "./command.ts";
import { readFlags } from "./flags.ts";

export const help: string = `usage: conclave schema postgres [--schema NAME] [--grant ROLE] [--fence] [--json]

Prints the SQL that makes the tables of a store in PostgreSQL (14 or newer), or brings those of the layout before up to date and keeps every token.
Candidates make tables themselves where there are none; run this if they may not, or should not (createTables: false). Running it again changes
nothing, and other tables are left alone:

  npx conclave schema postgres --grant app | psql -v ON_ERROR_STOP=1 "$DATABASE_URL"

  --schema NAME   where the tables go (default conclave); candidates then use ?conclave_schema=NAME in their URL
  --grant ROLE    also lets ROLE stand in elections: it may read and write rows, and may neither change tables nor delete counters.
                  Not needed if candidates connect as the owner
  --fence         also makes conclave_fence, for postgresFence: in the database whose rows are guarded, which need not be this one
  --json          one JSON object: {store, schema, role, fence, sql}

Exit codes: 0 printed, 2 the command line was not understood.
`;

const OPTIONS = {
  schema: { type: "string" },
  grant: { type: "string" },
  fence: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
} as const;

export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = readFlags({ args: [...args], options: OPTIONS, allowPositionals: true });
  const driver = DRIVERS.find(({ name }) => positionals.length === 1 && name === positionals[0]);
  if (driver?.schema === undefined)
    throw new UsageError("which store? postgres has tables to make; the others need none");
  const { schema = "conclave", grant, fence, json } = values;
  const sql = await driver.schema({ schema, role: grant, fence });
  const shown = { store: driver.name, schema, role: grant ?? null, fence, sql };
  process.stdout.write(json ? `${JSON.stringify(shown)}\n` : sql);
  return YES;
}
