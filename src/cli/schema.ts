// `conclave schema postgres`, `… dynamodb`, `… kubernetes`: prints what an owner of the store applies once, and nothing else, so that it can be piped into psql or
// kubectl, or kept as a template. It connects to nothing. Comments in the output say what it makes, and which rights a candidate needs.
import { DRIVERS } from "../drivers/registry.ts";
import { UsageError, YES } from "./command.ts";
import { readFlags } from "./flags.ts";

export const help: string = `usage: conclave schema postgres [--schema NAME] [--grant ROLE] [--fence] [--json]
       conclave schema dynamodb [--table NAME] [--json]
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

Of dynamodb it prints the table as a CloudFormation template, with the command of the aws tool and the rights that candidates need as comments:

  npx conclave schema dynamodb > conclave.yaml
  aws cloudformation deploy --template-file conclave.yaml --stack-name conclave

  --table NAME    of the table (default conclave); candidates use dynamodb://NAME?region=REGION
  --json          one JSON object: {store, table, template}

Of kubernetes it prints the manifest of the rights that candidates need, a Role and its binding to the service account of their pods:

  npx conclave schema kubernetes --namespace shop --grant billing | kubectl apply -f -

  --namespace NAME         where the Leases are, and the pods (default default)
  --grant SERVICEACCOUNT   of the pods (default default)
  --json                   one JSON object: {store, namespace, role, manifest}

Exit codes: 0 printed, 2 the command line was not understood.
`;

const OPTIONS = {
  schema: { type: "string" },
  table: { type: "string" },
  grant: { type: "string" },
  namespace: { type: "string" },
  fence: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
} as const;

/** The flags of each store, beside --json. */
const FLAGS: Readonly<Record<string, readonly string[]>> = {
  postgres: ["schema", "grant", "fence"],
  dynamodb: ["table"],
  kubernetes: ["namespace", "grant"],
};

export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = readFlags({ args: [...args], options: OPTIONS, allowPositionals: true });
  const driver = DRIVERS.find(({ name }) => positionals.length === 1 && name === positionals[0]);
  if (driver?.schema === undefined)
    throw new UsageError(
      `${positionals.length === 0 ? "which store?" : `${positionals.join(" ")} has no schema:`} postgres and dynamodb have tables to make, kubernetes has rights to give; the others need nothing`,
    );
  refuseOthers(driver.name, values);
  const { schema = "conclave", table = "conclave", grant, namespace, fence, json } = values;
  const isTable = driver.name === "dynamodb";
  const text = await driver.schema({ schema: isTable ? table : schema, role: grant, namespace, fence });
  const shown = isTable
    ? { store: driver.name, table, template: text }
    : driver.name === "kubernetes"
      ? { store: driver.name, namespace: namespace ?? "default", role: grant ?? "default", manifest: text }
      : { store: driver.name, schema, role: grant ?? null, fence, sql: text };
  process.stdout.write(json ? `${JSON.stringify(shown)}\n` : text);
  return YES;
}

function refuseOthers(store: string, values: Readonly<Record<string, unknown>>): void {
  for (const [owner, flags] of Object.entries(FLAGS))
    for (const flag of flags)
      if (values[flag] !== undefined && values[flag] !== false && !FLAGS[store]?.includes(flag))
        throw new UsageError(`--${flag} is of ${owner}`);
}
