// Finds the children of earlier terms that nobody keeps any more, because supervisor AND keeper were killed. They are looked for on this host, by the mark in their
// environment, before a new child begins.
//
// A mark is ELECTION:TOKEN:NONCE, with the election as a hash; there is one for every `conclave run` that a process is inside of. Only marks of the same election with a
// SMALLER token count. So a supervisor that was stopped between its election and this look can kill no child of a later term.
// Not found: processes of another user or of another pid namespace, and processes that have cleaned their environment. The fence refuses the writes of those.
import { createHash, randomBytes } from "node:crypto";
import type { FencingToken } from "../fencing/token.ts";
import { MARKS } from "../keeper/mark.ts";
import { livingWithEnvironment, send } from "../keeper/processes.ts";

export interface TermMark {
  readonly election: string;
  readonly token: bigint | undefined;
  /** `election` and a text that is unique for ever, between colons. */
  readonly text: string;
}

export function makeMark(election: string, token: FencingToken | undefined): TermMark {
  const hash = createHash("sha256")
    .update(`${token?.domain ?? ""}\n${election}`)
    .digest("hex")
    .slice(0, 16);
  return {
    election: hash,
    token: token?.value,
    text: `${hash}:${token?.value ?? "-"}:${randomBytes(8).toString("hex")}`,
  };
}

/** For the environment of a child. It includes the marks that this process has itself, so that what ends those ends the child too. */
export function marked({ text }: TermMark): Readonly<Record<string, string>> {
  return { [MARKS]: [process.env[MARKS], text].filter(Boolean).join(" ") };
}

/** Process ids of the children that are left of earlier terms. Without a token nobody can say which terms are earlier. */
export function findOrphans({ election, token }: TermMark): readonly number[] {
  if (token === undefined) return [];
  return livingWithEnvironment((text) => marksIn(text).some((mark) => isEarlier(mark, election, token)));
}

export function killOrphans(pids: readonly number[]): void {
  for (const pid of pids) send(pid, "SIGKILL");
}

function marksIn(environment: string): readonly string[] {
  const entry = environment.split("\0").find((each) => each.startsWith(`${MARKS}=`));
  return entry?.slice(MARKS.length + 1).split(" ") ?? [];
}

function isEarlier(mark: string, election: string, token: bigint): boolean {
  const [hash, value = ""] = mark.split(":");
  return hash === election && /^\d+$/.test(value) && BigInt(value) < token;
}
