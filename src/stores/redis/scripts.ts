// The scripts of `redis:`, one for each method of the contract that sends requests to the server. Each script is one step at the server; a list takes
// one step for each page.
import { type Script, scriptOf } from "../../clients/redis/port.ts";
import { lua as shared } from "./lua/shared.lua";
import { lua as claim } from "./lua/claim.lua";
import { lua as keep } from "./lua/keep.lua";
import { lua as list } from "./lua/list.lua";
import { lua as look } from "./lua/look.lua";
import { lua as open } from "./lua/open.lua";
import { lua as release } from "./lua/release.lua";

export type Verb = "open" | "keep" | "claim" | "release" | "look" | "list";

/** Without the comments, because the text is sent to the server when it does not know the script yet. */
function whole(verb: string): Script {
  return scriptOf(
    `${shared}\n${verb}`
      .split("\n")
      .filter((line) => !line.startsWith("--"))
      .join("\n"),
  );
}

export const SCRIPTS: Readonly<Record<Verb, Script>> = {
  open: whole(open),
  keep: whole(keep),
  claim: whole(claim),
  release: whole(release),
  look: whole(look),
  list: whole(list),
};

/** Writes a key and removes it, so that those who listen hear of it (keyspace.ts). */
export const PROBE: Script = scriptOf(
  "redis.call('SET', KEYS[1], '1', 'PX', '1000')\nreturn redis.call('DEL', KEYS[1])",
);
