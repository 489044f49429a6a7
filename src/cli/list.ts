// `conclave list`: the elections that a store knows of, and who leads each. Looks, and so hints.
import { askedOnce, noAnswerToRead } from "../base/outcome.ts";
import { ConclaveError, createCandidate, isConclaveError, type Leader, type Store } from "../index.ts";
import type { ListedNames, ListsNames } from "../stores/contract.ts";
import { type MarkedSchedule, schedulesOf } from "../schedule/admin.ts";
import { NO, YES } from "./command.ts";
import { readCount, readFlags } from "./flags.ts";
import { leaderJson, say } from "./leader.ts";
import { chooseStore, missingFile, onlyLooking, STORE_HELP } from "./store.ts";

export const help: string = `usage: conclave list [--schedules] [--store URL] [--most N] [--json]

Prints the elections of a store, and who leads each. This may be old when you read it, as with conclave leader. etcd and ZooKeeper keep nothing of an election for which nobody stands, and Redis keeps it for a short while; on the other stores every election is listed that was ever led.

${STORE_HELP}
  --most N      N elections at most (default 1000), in the order of their names
  --schedules   print their schedules instead: the last slot that was taken, what became of it, and the next one
                ({"schedules": [{"election", "key", "slot", "state", "at", "next", "token"}], "isWhole"})
  --json        one JSON object: {"elections": [{"election", "leader": {"id", "token", "value"} |
                null}], "semaphores": [{"semaphore", "holders": [{"seat", "id", "value"}]}],
                "isWhole"}; isWhole is false if there are more

The seats of a semaphore are elections named semaphores/NAME/SEAT. They are shown together, by the name of the semaphore.

Exit codes: 0 there are some, 1 there are none, 2 the command line was not understood, 3 the store did not answer or refused (the reason is on stderr).
`;

const WITHIN_MS = 10_000;
/** How many looks are under way at once. */
const WIDTH = 20;

export async function run(args: readonly string[]): Promise<number> {
  const options = {
    store: { type: "string" },
    most: { type: "string" },
    json: { type: "boolean" },
    schedules: { type: "boolean" },
  } as const;
  const { values } = readFlags({ args: [...args], options });
  const most = readCount("--most", values.most ?? "1000", 1);
  const store = await chooseStore(values.store);
  try {
    const { names, isWhole } = await namesOf(store, most);
    if (values.schedules === true) return await listSchedules(store, names, isWhole, values.json === true);
    const elections = await leadersOf(store, names);
    const semaphores = semaphoresOf(elections);
    const others = elections.filter(([name]) => seatOf(name) === undefined);
    if (values.json === true) {
      const shown = others.map(([election, leader]) => ({ election, leader: leaderJson(leader) }));
      process.stdout.write(`${JSON.stringify({ elections: shown, semaphores, isWhole })}\n`);
    } else {
      for (const [name, leader] of others) process.stdout.write(`${say(name, leader)}\n`);
      for (const found of semaphores) process.stdout.write(`${saySemaphore(found)}\n`);
      if (names.length === 0) process.stdout.write("no elections\n");
      if (!isWhole) process.stderr.write(`conclave list: there are more than ${most}: --most lists them\n`);
    }
    return names.length === 0 ? NO : YES;
  } finally {
    await store.close();
  }
}

type Led = readonly (readonly [name: string, leader: Leader | undefined])[];

interface FoundSemaphore {
  readonly semaphore: string;
  readonly holders: readonly { readonly seat: number; readonly id: string; readonly value: string | null }[];
}

/** docs/SEMAPHORE.md says how the seats are named. Undefined: it is another election. */
function seatOf(name: string): { readonly semaphore: string; readonly seat: number } | undefined {
  const [, semaphore, seat] = /^semaphores\/(.+)\/(0|[1-9]\d{0,3})$/su.exec(name) ?? [];
  return semaphore === undefined ? undefined : { semaphore, seat: Number(seat) };
}

/** The seats that belong together. Their tokens are left out, because tokens of different seats cannot be compared. */
function semaphoresOf(elections: Led): readonly FoundSemaphore[] {
  const found = new Map<string, FoundSemaphore["holders"][number][]>();
  for (const [name, leader] of elections) {
    const { semaphore, seat } = seatOf(name) ?? {};
    if (semaphore === undefined || seat === undefined) continue;
    const holders = found.get(semaphore) ?? [];
    found.set(semaphore, holders);
    if (leader !== undefined) holders.push({ seat, id: leader.id, value: leader.value ?? null });
  }
  return [...found].map(([semaphore, holders]) => ({
    semaphore,
    holders: holders.toSorted((a, b) => a.seat - b.seat),
  }));
}

function saySemaphore({ semaphore, holders }: FoundSemaphore): string {
  if (holders.length === 0) return `nobody holds a permit of the semaphore "${semaphore}"`;
  const each = holders.map(({ seat, id, value }) => {
    const announced = value === null ? "" : ` and announces ${JSON.stringify(value)}`;
    return `${id} (seat ${seat}${announced})`;
  });
  return `${holders.length} hold a permit of the semaphore "${semaphore}": ${each.join(", ")}`;
}

async function listSchedules(
  store: Store,
  names: readonly string[],
  isWhole: boolean,
  isJson: boolean,
): Promise<number> {
  const found: (MarkedSchedule & { readonly election: string })[] = [];
  for (const election of names) {
    const call = { signal: AbortSignal.timeout(WITHIN_MS), sentAtMs: 0 };
    found.push(...(await schedulesOf(store, election, call)).map((schedule) => ({ election, ...schedule })));
  }
  if (isJson) process.stdout.write(`${JSON.stringify({ schedules: found.map(scheduleJson), isWhole })}\n`);
  else for (const schedule of found) process.stdout.write(`${saySchedule(schedule)}\n`);
  if (!isJson && found.length === 0) process.stdout.write("no schedules\n");
  return found.length === 0 ? NO : YES;
}

type Found = MarkedSchedule & { readonly election: string };

function scheduleJson({ election, key, token, mark }: Found): object {
  const iso = (ms: number | undefined): string | null => (ms === undefined ? null : new Date(ms).toISOString());
  const { slotMs, state, atMs, nextMs } = mark ?? {};
  return {
    election,
    key,
    slot: iso(slotMs),
    state: state ?? null,
    at: iso(atMs),
    next: iso(nextMs),
    token: String(token),
  };
}

function saySchedule(found: Found): string {
  const { election, key, slot, state, at, next, token } = scheduleJson(found) as Readonly<
    Record<string, string | null>
  >;
  const about = `${JSON.stringify(election)} ${key}`;
  if (state === null) return `${about}: what stands there is no mark`;
  const then = next === null ? "" : `, next ${next}`;
  return `${about}: ${slot} ${state === "begun" ? "begun, end not noted" : state}, at ${at} with token ${token}${then}`;
}

async function namesOf(
  store: Store & Partial<ListsNames>,
  most: number,
): Promise<Extract<ListedNames, { kind: "listed" }>> {
  const missing = missingFile(store);
  if (missing !== undefined) {
    process.stderr.write(`conclave list: there is no file ${missing} yet\n`);
    return { kind: "listed", names: [], isWhole: true };
  }
  if (store.listNames === undefined)
    throw new ConclaveError(
      "STORE_UNSUPPORTED",
      `${store.guarantee.store} cannot list its elections. Ask for one by its name: conclave leader NAME`,
    );
  const listed = await store.listNames(most, { signal: AbortSignal.timeout(WITHIN_MS), sentAtMs: 0 });
  if (listed.kind === "listed") return listed;
  const { cause } = listed;
  if (listed.kind === "refused") {
    const { code, message, retryable } = listed;
    throw new ConclaveError(code, askedOnce(message), { retryable, cause });
  }
  if (isConclaveError(cause)) throw cause;
  const message = noAnswerToRead(store.guarantee.store, "the question which elections there are", cause);
  throw new ConclaveError("STORE_TIMEOUT", message, { cause });
}

async function leadersOf(store: Store, names: readonly string[]): Promise<Led> {
  const watcher = createCandidate(onlyLooking(store)); // it never stands for election
  const found: (readonly [string, Leader | undefined])[] = [];
  for (let index = 0; index < names.length; index += WIDTH) {
    const piece = names.slice(index, index + WIDTH);
    found.push(
      ...(await Promise.all(piece.map(async (name) => [name, await watcher.election(name).leader()] as const))),
    );
  }
  return found;
}
