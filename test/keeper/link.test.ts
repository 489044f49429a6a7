// An app's end of its keeper, with a program that plays the keeper: it writes down what it is told, and is ready when the test says so.
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { AppKeeperLink, type LifeDescriptor, lifeId } from "../../src/keeper/link.ts";
import { identify } from "../../src/keeper/processes.ts";
import { happens, kill, until } from "../supervisor/stage.ts";

const PATIENT = { timeout: 60_000 };
/** Notes each line with its pid; is ready as soon as there is a file `ready-N`, where N counts the keepers. */
const PROGRAM = `
import { appendFileSync, existsSync, readdirSync, writeFileSync } from "node:fs";
const folder = new URL(".", import.meta.url).pathname;
const n = readdirSync(folder).filter((name) => name.startsWith("started-")).length + 1;
writeFileSync(folder + "started-" + n, String(process.pid));
const said = folder + "said-" + n;
writeFileSync(said, "");
let rest = "";
process.stdin.setEncoding("utf8").on("data", (text) => {
  const lines = (rest + text).split("\\n");
  rest = lines.pop();
  for (const line of lines) {
    appendFileSync(said, line + "\\n");
    if (JSON.parse(line).word === "farewell") process.exit(0);
  }
});
process.stdin.on("close", () => process.exit(0));
const timer = setInterval(() => {
  if (!existsSync(folder + "ready-" + n)) return;
  clearInterval(timer);
  process.stdout.write('{"word":"ready"}\\n');
}, 5);
`;

let folder: string;
let link: AppKeeperLink;
let lost: string[];
let detach: () => void;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "conclave-link-"));
  const program = path.join(folder, "keeper.mjs");
  writeFileSync(program, PROGRAM);
  lost = [];
  const app = identify(process.pid) ?? { pid: -1, startedAt: "" };
  link = new AppKeeperLink({ program, app, mark: "a-mark", looksForChildren: true });
  detach = link.attach((why) => lost.push(why));
});
afterEach(async () => {
  detach();
  for (const n of [1, 2, 3]) if (pidOf(n) > 1) kill(pidOf(n), "SIGKILL");
  await until(() => [1, 2, 3].every((n) => !runs(n)), "all have ended");
  rmSync(folder, { recursive: true, force: true });
});

function read(name: string): string {
  try {
    return readFileSync(path.join(folder, name), "utf8");
  } catch {
    return "";
  }
}

const pidOf = (n: number): number => Number(read(`started-${n}`));
const runs = (n: number): boolean => pidOf(n) > 1 && identify(pidOf(n)) !== undefined;
const isReady = (n: number): void => writeFileSync(path.join(folder, `ready-${n}`), "");
const words = (n: number): readonly Record<string, unknown>[] =>
  read(`said-${n}`)
    .trim()
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
const hears = (n: number, word: string): Promise<void> =>
  until(() => words(n).some((each) => each["word"] === word), `${word} to keeper ${n}: ${JSON.stringify(words(n))}`);

function lifeAt(name: string): LifeDescriptor {
  const file = path.join(folder, name);
  writeFileSync(file, "");
  const descriptor = openSync(file, "r");
  return { descriptor, id: lifeId(descriptor) ?? "", file };
}

function open(life?: LifeDescriptor): number {
  return link.open({ url: "x:", quietMs: 0, life, session: { id: "s", candidate: "c", ttlMs: 1000 } });
}

it("one keeper serves all sessions where rivals watch nothing", PATIENT, async () => {
  link.begin();
  const keys = [open(), open()];
  link.claimed(keys[0] ?? 0, [{ name: "a", bid: "1" }]);
  await hears(1, "claimed");
  expect(words(1).map(({ word }) => word)).toEqual(["hello", "session", "session", "claimed"]);
  expect(pidOf(2)).toBe(0);
});

it("one that holds a new descriptor is started, and the one before leaves only when it is ready", PATIENT, async () => {
  const [first, second] = [lifeAt("one"), lifeAt("two")];
  open(first);
  isReady(1);
  await link.holds(first);
  const key = open(second);
  let isHeld = false;
  void link.holds(second).then(() => (isHeld = true));
  link.claimed(key, [{ name: "a", bid: "1" }]);
  await hears(2, "claimed");
  expect(words(2)[0]).toMatchObject({ word: "hello", lives: [first.file, second.file], peer: pidOf(1) });
  expect(words(2).filter(({ word }) => word === "session")).toMatchObject([{ life: 0 }, { life: 1 }]);
  expect([runs(1), isHeld, words(1).some(({ word }) => word === "farewell")]).toEqual([true, false, false]);
  isReady(2);
  expect(await happens(() => isHeld)).toBe(true);
  expect(await happens(() => !runs(1))).toBe(true);
  expect(lost).toEqual([]);
});

it("one that dies is replaced, and the next is told everything", PATIENT, async () => {
  const key = open(lifeAt("one"));
  isReady(1);
  link.claimed(key, [{ name: "a", bid: "1" }]);
  link.beats(key, ["b"]);
  await hears(1, "beats");
  kill(pidOf(1), "SIGKILL");
  await hears(2, "session");
  expect(lost).toEqual(["it ended (SIGKILL)"]);
  const session = { id: "s", beats: ["b"] };
  expect(words(2)[1]).toMatchObject({ word: "session", key, life: 0, session, holds: [{ name: "a", bid: "1" }] });
});

it("a keeper that is ready without a descriptor does not hold it, and no claim is sent by that", PATIENT, async () => {
  const life = { ...lifeAt("one"), id: "another" }; // it was closed before it could be handed on
  open(life);
  await hears(1, "session");
  let isHeld = false;
  void link.holds(life).then(() => (isHeld = true));
  isReady(1);
  expect(await happens(() => isHeld, 300)).toBe(false);
});

it("a descriptor that was closed since, and whose number is another file's, is not handed on", PATIENT, async () => {
  const life = lifeAt("one");
  open({ ...life, id: "another" });
  await hears(1, "session");
  expect(words(1)[0]).toMatchObject({ word: "hello", lives: [] });
  expect(words(1)[1]).not.toHaveProperty("life");
});
