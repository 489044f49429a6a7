// `conclave transfer NAME --to ID`: a leader hands over to the candidate that is named. That candidate is invited through the store and asks the leader to leave, so that nothing is given up for
// one that is not there. The request names the term that leads now, or that of --token: it ends no other, however late it arrives (election/transfer.ts).
import { createCandidate, type Election, type Store, type Transfer } from "../index.ts";
import { NO, UsageError, YES } from "./command.ts";
import { onlyName, readDuration, readFlags } from "./flags.ts";
import { leaderJson, say } from "./leader.ts";
import { chooseStore, missingFile, onlyLooking, STORE_HELP } from "./store.ts";

export const help: string = `usage: conclave transfer NAME --to ID [--store URL] [--token N] [--timeout 30s] [--json]

Hands the leadership of NAME over to the candidate ID, if that candidate waits. ID is invited through the store, and asks the leader to leave. The leader's signal aborts, its work drains, and then ID leads with a new token; the other candidates let it go first for a moment. If ID does not answer, the leader gives nothing up.

${STORE_HELP}
  --to ID       the id of a candidate, as it was started (conclave run --id), or as conclave leader shows it
  --token N     only if the leader has this token; if another term leads, nothing is asked
  --timeout 30s how long ID has for its answer, and the leader's work for its end
  --json        one JSON object: {"election", "to", "outcome", "leader": {"id", "token", "value"} | null}.
                The outcome is one of transferred, leads-already, another-leads, given-up, stays, nobody-leads, not-that-term

This works on memory, sqlite, postgres and kubernetes. On etcd and zookeeper a queue decides who leads next: there the leader itself can hand over to the next candidate in the queue (term.transfer).
All candidates need a version of conclave that knows transfers; one that does not may be quicker (another-leads).

Exit codes: 0 ID leads, 1 it does not (see the outcome), 2 not understood, 3 it could not be asked or found out (the reason is on stderr, with its code).
`;

export async function run(args: readonly string[]): Promise<number> {
  const options = {
    store: { type: "string" },
    to: { type: "string" },
    token: { type: "string" },
    timeout: { type: "string" },
    json: { type: "boolean" },
  } as const;
  const { values, positionals } = readFlags({ args: [...args], options, allowPositionals: true });
  const name = onlyName(positionals, "NAME");
  const { to } = values;
  if (to === undefined || to === "") throw new UsageError("--to is missing: the id of the candidate that is to lead");
  const token = values.token === undefined ? undefined : readToken(values.token);
  const withinMs = readDuration("--timeout", values.timeout ?? "30s");
  const store = await chooseStore(values.store);
  try {
    const transfer: Transfer =
      missingFile(store) === undefined
        ? await electionAt(store, name).transfer(to, { token, withinMs })
        : { outcome: "nobody-leads" };
    const shown = values.json === true ? asJson(name, to, transfer) : asText(name, to, transfer, withinMs);
    process.stdout.write(`${shown}\n`);
    return transfer.outcome === "transferred" || transfer.outcome === "leads-already" ? YES : NO;
  } finally {
    await store.close();
  }
}

/** Of a candidate that never stands. */
function electionAt(store: Store, name: string): Election {
  return createCandidate(onlyLooking(store)).election(name) as unknown as Election;
}

function readToken(text: string): bigint {
  if (/^\d{1,20}$/.test(text)) return BigInt(text);
  throw new UsageError(`--token ${text}: a token is a whole number, as conclave leader shows it`);
}

function asJson(election: string, to: string, { outcome, leader }: Transfer): string {
  return JSON.stringify({ election, to, outcome, leader: leaderJson(leader) });
}

function asText(name: string, to: string, { outcome, leader }: Transfer, withinMs: number): string {
  const now = say(name, leader);
  switch (outcome) {
    case "transferred":
      return `"${name}" was handed over; ${now}`;
    case "leads-already":
      return `${now} already`;
    case "another-leads":
      return `"${name}" was given up, but another candidate was quicker than ${to}; ${now}`;
    case "given-up":
      return `"${name}" was given up, and nobody leads yet`;
    case "stays":
      return `${now}: ${to} has not answered within ${withinMs} ms, or the leader's work still drains. Is ${to} the id of a candidate that waits, and does it know transfers?`;
    case "not-that-term":
      return `the term of that token does not lead; ${now}. Nothing was asked`;
    case "nobody-leads":
      return now;
  }
}
