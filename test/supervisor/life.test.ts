// The descriptor that waiters watch (sqlite:). The command holds it too, so that waiters know of a command that outlives its supervisor and its keeper; also where the store could
// not be opened yet when the supervisor was started.
import { readdirSync, readlinkSync } from "node:fs";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Database } from "../stores/sqlite/by-hand.ts";
import { Stage } from "./stage.ts";

/** The descriptor of a child (src/supervisor/child.ts). */
const LIFE = 4;

let stage: Stage;
beforeEach(() => {
  stage = new Stage();
});
afterEach(() => stage.end());

/** What it has there; empty if it has nothing. */
function lifeOf(pid: number): string {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).includes(`${LIFE}`) ? readlinkSync(`${folder}/${LIFE}`) : "";
}

it(
  "a command has what waiters watch, also if the file was locked when its supervisor began",
  { timeout: 60_000 },
  async () => {
    const database = new Database(stage.file("elections.db"));
    database.exec("BEGIN EXCLUSIVE; CREATE TABLE conclave_other (x)");
    const run = await stage.run({ id: "r", command: ["sleep", "1000"] });
    await run.tells("error");
    database.exec("ROLLBACK");
    database.close();
    await run.tells("child", "started");
    expect(lifeOf(run.childPid)).toMatch(/^socket:/);
  },
);
