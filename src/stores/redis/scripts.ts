// The scripts of `redis:`, one for each method of the contract that sends requests to the server; giving back has a second one, which also ends the session. Each script is one step at the server; a
// list takes one step for each page.
//
// A script is put together from the pieces that it needs: the server makes every function of a script anew whenever it runs, which takes as long as a command.
import { type Script, scriptOf } from "../../clients/redis/port.ts";
import { lua as shared } from "./lua/shared.lua";
import { lua as holds } from "./lua/holds.lua";
import { lua as leaving } from "./lua/leaving.lua";
import { lua as seats } from "./lua/seats.lua";
import { lua as sessions } from "./lua/sessions.lua";
import { lua as freeOurs } from "./lua/ours/free.lua";
import { lua as namesOurs } from "./lua/ours/names.lua";
import { lua as seatsOurs } from "./lua/ours/seats.lua";
import { lua as vacateOurs } from "./lua/ours/vacate.lua";
import { lua as freeRedlock } from "./lua/redlock/free.lua";
import { lua as namesRedlock } from "./lua/redlock/names.lua";
import { lua as seatsRedlock } from "./lua/redlock/seats.lua";
import { lua as vacateRedlock } from "./lua/redlock/vacate.lua";
import { lua as claim } from "./lua/claim.lua";
import { lua as free } from "./lua/free.lua";
import { lua as keep } from "./lua/keep.lua";
import { lua as leave } from "./lua/leave.lua";
import { lua as list } from "./lua/list.lua";
import { lua as look } from "./lua/look.lua";
import { lua as open } from "./lua/open.lua";
import { lua as release } from "./lua/release.lua";
import type { Layout } from "./guarantee.ts";

export type Verb = "open" | "keep" | "claim" | "release" | "leave" | "look" | "list";

/** The pieces of a layout. */
interface Pieces {
  readonly names: string;
  readonly free: string;
  readonly seats: string;
  readonly vacate: string;
}

function scriptsOf(layout: Pieces): Readonly<Record<Verb, Script>> {
  const { names, vacate } = layout;
  const allSeats = [names, sessions, seats, layout.seats];
  return {
    open: whole(sessions, open),
    keep: whole(...allSeats, holds, keep),
    claim: whole(names, layout.free, free, sessions, seats, layout.seats, claim),
    release: whole(names, leaving, vacate, release),
    leave: whole(names, sessions, holds, leaving, vacate, leave),
    look: whole(...allSeats, look),
    list: whole(...allSeats, holds, list),
  };
}

/** Without the comments, because the text is sent to the server when it does not know the script yet. */
function whole(...pieces: readonly string[]): Script {
  return scriptOf(
    [shared, ...pieces]
      .join("\n")
      .split("\n")
      .filter((line) => !line.startsWith("--"))
      .join("\n"),
  );
}

export const SCRIPTS: Readonly<Record<Layout, ReturnType<typeof scriptsOf>>> = {
  ours: scriptsOf({ names: namesOurs, free: freeOurs, seats: seatsOurs, vacate: vacateOurs }),
  redlock: scriptsOf({ names: namesRedlock, free: freeRedlock, seats: seatsRedlock, vacate: vacateRedlock }),
};

/** Writes a key and removes it, so that those who listen hear of it (keyspace.ts). */
export const PROBE: Script = scriptOf(
  "redis.call('SET', KEYS[1], '1', 'PX', '1000')\nreturn redis.call('DEL', KEYS[1])",
);
