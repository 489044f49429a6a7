// From the review of the design: two processes write one file, the older one late. The one that renames last wins, and nobody notices.
// Here: the token is in the name. The older file is never read once the newer token is raised, and its writer is told so; it never takes for
// written what nobody will read.
// Taken out: test/defences/two-file-writers.patch
import { afterAll, beforeAll, expect, it } from "vitest";
import { parseToken } from "conclave";
import { fileFence } from "conclave/fencing";
import { Family, SLOW_RENAME } from "../fencing/children.ts";

const WRITER = `${SLOW_RENAME}
await fileFence(folder, "ledger").write("by " + value, by(value)).then(() => say("written"), ({ code }) => say(code));
process.exit();
`;

let family: Family;
beforeAll(async () => {
  family = await Family.begin();
});
afterAll(() => family.end());

it("two-file-writers: readers see what the newer token wrote, and the older writer is told", async () => {
  const folder = family.place("shared");
  const file = fileFence(folder, "ledger");
  const old = await family.spawn(WRITER, folder, "1");
  await old.until((said) => said.includes("renaming"));
  const newer = await family.spawn(WRITER, folder, "2");
  await newer.until((said) => said.includes("renaming"));
  newer.tell("go on");
  await newer.until((said) => said.includes("written"));
  old.tell("go on"); // now its file appears, after the newer one
  await old.until((said) => said.length === 2);
  expect((await file.read())?.content.toString()).toBe("by 2");
  expect(old.said).toEqual(["renaming", "TOKEN_STALE"]);
  await file.raise({ token: parseToken("etcd-1:3:b3") });
  expect((await file.read())?.content.toString()).toBe("by 2");
});
