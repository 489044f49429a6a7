// `conclave leader NAME`: who leads now. A look, and so a hint: by the time it is printed another may lead.
import { elect, type Leader } from "../index.ts";
import { NO, YES } from "./command.ts";
import { onlyName, readFlags } from "./flags.ts";
import { chooseStore, missingFile, onlyLooking, STORE_HELP } from "./store.ts";

export const help: string = `usage: conclave leader NAME [--store URL] [--json]

Prints who leads the election NAME now. This may be old when you read it, so use it for people and dashboards, and not to decide whether a process may write: only the leader itself can know that it leads, and only a guard that compares tokens stops the write of a leader that was replaced.

${STORE_HELP}
  --json        one JSON object: {"election", "leader": {"id", "token", "value"} | null}
                The token is decimal text, null where the store has none; value is what the leader announces, or null.

Exit codes: 0 somebody leads, 1 nobody leads, 2 the command line was not understood, 3 the store did not answer or refused (the reason is on stderr, with its code).
`;

export async function run(args: readonly string[]): Promise<number> {
  const options = { store: { type: "string" }, json: { type: "boolean" } } as const;
  const { values, positionals } = readFlags({ args: [...args], options, allowPositionals: true });
  const name = onlyName(positionals, "NAME");
  const store = await chooseStore(values.store);
  const election = elect(name, onlyLooking(store));
  const missing = missingFile(store);
  if (missing !== undefined) process.stderr.write(`conclave leader: there is no file ${missing} yet\n`);
  try {
    const leader = missing === undefined ? await election.leader() : undefined;
    const shown =
      values.json === true ? JSON.stringify({ election: name, leader: leaderJson(leader) }) : say(name, leader);
    process.stdout.write(`${shown}\n`);
    return leader === undefined ? NO : YES;
  } finally {
    await store.close();
  }
}

export function leaderJson(leader: Leader | undefined): object | null {
  if (leader === undefined) return null;
  const { id, token, value } = leader;
  return { id, token: token === undefined ? null : `${token}`, value: value ?? null };
}

export function say(name: string, leader: Leader | undefined): string {
  if (leader === undefined) return `nobody leads "${name}"`;
  const { id, token, value } = leader;
  const withToken = token === undefined ? "" : ` with token ${token}`;
  return `${id} leads "${name}"${withToken}${value === undefined ? "" : ` and announces ${JSON.stringify(value)}`}`;
}
