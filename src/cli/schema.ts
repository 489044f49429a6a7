// `conclave schema postgres`: the SQL that an owner of the database runs once, on stdout and nothing else, so that it can be piped into psql. Connects to
// nothing. What it makes, and which rights a candidate needs, is said in the SQL's own comments.
import { parseArgs } from "node:util";
import { postgresFence } from "../fencing/postgres.ts";
import { postgresSchema } from "../stores/postgres.ts";

const HELP = `usage: conclave schema postgres [--schema NAME] [--grant ROLE] [--fence] [--json]

Prints the SQL that makes the tables of a store in PostgreSQL (14 or newer). Run it once, as a user who may create a schema; running it again changes
nothing, and other tables are left alone:

  npx conclave schema postgres --grant app | psql -v ON_ERROR_STOP=1 "$DATABASE_URL"

  --schema NAME   where the tables go (default conclave); candidates then use ?conclave_schema=NAME in their URL
  --grant ROLE    also lets ROLE stand in elections: it may read and write rows, and may neither change tables nor delete counters.
                  Not needed if candidates connect as the owner
  --fence         also makes conclave_fence, for postgresFence: in the database whose rows are guarded, which need not be this one
  --json          one JSON object: {store, schema, role, fence, sql}

Exit: 0 printed, 2 the command was not understood.
`;

const OPTIONS = {
  schema: { type: "string" },
  grant: { type: "string" },
  fence: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
} as const;

export async function run(args: readonly string[]): Promise<number> {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: OPTIONS,
      strict: true,
      allowPositionals: true,
    });
    if (values.help) {
      process.stdout.write(HELP);
      return 0;
    }
    if (positionals.length !== 1 || positionals[0] !== "postgres")
      throw new Error("which store? postgres has tables to make; the others need none");
    const { schema = "conclave", grant, fence, json } = values;
    const sql = sqlOf(schema, grant, fence);
    const shown = { store: "postgres", schema, role: grant ?? null, fence, sql };
    process.stdout.write(json ? `${JSON.stringify(shown)}\n` : sql);
    return 0;
  } catch (error) {
    process.stderr.write(`conclave schema: ${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
    return 2;
  }
}

function sqlOf(schema: string, role: string | undefined, fence: boolean): string {
  const guard = postgresFence();
  const forRole =
    role === undefined ? "" : `GRANT SELECT, INSERT, UPDATE ON conclave_fence TO "${role.replaceAll('"', '""')}";\n`;
  return `${postgresSchema({ schema, role })}${fence ? `${guard.schema()}${forRole}` : ""}`;
}
