// Nodes and bans in PostgreSQL, by functions of the database; sql/bans.sql has the argument. This file reads and checks the answer to an opening with a node.
import { bannedNode, twinNode } from "../../lease/ban-rule.ts";
import type { NodeIdentity, Refused } from "../contract.ts";
import { type AnswerRow, readText } from "./answers.ts";
import { edited, knowsNo, type PostgresWhereabouts } from "./refusals.ts";

/** Undefined: the session was opened, and its node is recorded. Functions of an earlier version ignore a node, and do not name it in their answer. */
export function nodeRefused(node: NodeIdentity, answer: AnswerRow, where: PostgresWhereabouts): Refused | undefined {
  if (answer["kind"] === "twin") return twinNode("postgres", node);
  if (answer["kind"] === "kept")
    return answer["node"] === node.name
      ? undefined
      : knowsNo("bans", "Until then leave the node of the candidate out.", undefined, where);
  if (answer["kind"] !== "banned") return undefined;
  const { by } = answer;
  if (!Array.isArray(by)) throw edited("a list of bans", by, where);
  return bannedNode(
    "postgres",
    node,
    by.map((name) => readText(name, "the election of a ban", where)),
  );
}
