// `conclave schema postgres`, `conclave schema kubernetes`: what an owner of the store applies once, on stdout and nothing else, so that it can be piped into psql or
// kubectl. Connects to nothing. What it makes, and which rights a candidate needs, is said in its own comments.
import { DRIVERS } from "../drivers/registry.ts";
import { UsageError, YES } from "./command.ts";
import { readFlags } from "./flags.ts";

export const help: string = `usage: conclave schema postgres [--schema NAME] [--grant ROLE] [--fence] [--json]
       conclave schema kubernetes [--namespace NAME] [--grant SERVICEACCOUNT] [--json]

Prints the SQL that makes the tables of a store in PostgreSQL (14 or newer), or brings those of the layout before up to date and keeps every token.
Candidates make tables themselves where there are none; run this if they may not, or should not (createTables: false). Running it again changes
nothing, and other tables are left alone:

  npx conclave schema postgres --grant app | psql -v ON_ERROR_STOP=1 "$DATABASE_URL"

  --schema NAME   where the tables go (default conclave); candidates then use ?conclave_schema=NAME in their URL
  --grant ROLE    also lets ROLE stand in elections: it may read and write rows, and may neither change tables nor delete counters.
                  Not needed if candidates connect as the owner
  --fence         also makes conclave_fence, for postgresFence: in the database whose rows are guarded, which need not be this one
  --json          one JSON object: {store, schema, role, fence, sql}

Of kubernetes it prints the manifest of the rights that candidates need, a Role and its binding to the service account of their pods:

  npx conclave schema kubernetes --namespace shop --grant billing | kubectl apply -f -

  --namespace NAME         where the Leases are, and the pods (default default)
  --grant SERVICEACCOUNT   of the pods (default default)
  --json                   one JSON object: {store, namespace, role, manifest}

Exit codes: 0 printed, 2 the command line was not understood.
`;

const OPTIONS = {
  schema: { type: "string" },
  grant: { type: "string" },
  namespace: { type: "string" },
  fence: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
} as const;

export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = readFlags({ args: [...args], options: OPTIONS, allowPositionals: true });
  const driver = DRIVERS.find(({ name }) => positionals.length === 1 && name === positionals[0]);
  if (driver?.schema === undefined)
    throw new UsageError(
      "which store? postgres has tables to make, kubernetes has rights to give; the others need nothing",
    );
  const { schema = "conclave", grant, namespace, fence, json } = values;
  const isManifest = driver.name === "kubernetes";
  if (isManifest ? values.schema !== undefined || fence : namespace !== undefined)
    throw new UsageError(isManifest ? "--schema and --fence are of postgres" : "--namespace is of kubernetes");
  const text = await driver.schema({ schema, role: grant, namespace, fence });
  const shown = isManifest
    ? { store: driver.name, namespace: namespace ?? "default", role: grant ?? "default", manifest: text }
    : { store: driver.name, schema, role: grant ?? null, fence, sql: text };
  process.stdout.write(json ? `${JSON.stringify(shown)}\n` : text);
  return YES;
}
