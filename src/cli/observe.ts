// `conclave observe NAME`: the present leader, then a line for every change, until told to stop. A slow reader sees the latest.
import { onlyName, readFlags } from "./flags.ts";
import { follow } from "./follow.ts";
import { leaderJson, say } from "./leader.ts";
import { chooseStore, STORE_HELP } from "./store.ts";

export const help: string = `usage: conclave observe NAME [--store URL] [--json]

Prints who leads the election NAME, then a line for every change, until SIGINT (Ctrl-C) or SIGTERM. This may be old when you read it, as with conclave leader.
If the store cannot be reached, it says so on stderr, and tries again.

${STORE_HELP}
  --json        one JSON object in each line: {"at", "election", "leader": {"id", "token", "value"} | null}; at is the time of day here

Exit codes: 0 told to stop, 2 the command line was not understood, 3 the store could not be read (the reason is on stderr, with its code),
130 interrupted (SIGINT).
`;

export async function run(args: readonly string[]): Promise<number> {
  const options = { store: { type: "string" }, json: { type: "boolean" } } as const;
  const { values, positionals } = readFlags({ args: [...args], options, allowPositionals: true });
  const name = onlyName(positionals, "NAME");
  const store = await chooseStore(values.store);
  const isJson = values.json === true;
  return await follow(
    "observe",
    store,
    (watcher, signal) => watcher.election(name).observe({ signal }),
    (leader, at) =>
      isJson ? JSON.stringify({ at, election: name, leader: leaderJson(leader) }) : `${at}  ${say(name, leader)}`,
  );
}
