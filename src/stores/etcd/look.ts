// Looks at names: the first entry of each line, and the place of one's own. One transaction of reads serves all of them. More are needed only for a line in which
// others are before me, or whose keys are mixed with other data.
import type { EtcdLink } from "../../clients/etcd/link.ts";
import type { KeyValue, Operation, RangeResponse } from "../../clients/etcd/messages.ts";
import type { StopSignal } from "../../clients/stop-signal.ts";
import type { Name, Question, Seat, ShownNext, ShownNodeless, Token } from "../contract.ts";
import { readNodes } from "./bans.ts";
import { domainOf, holderOf, keyOf, kindOf, type Line, lineOf, readRecord, versionOf } from "./entry.ts";
import { entriesBefore, firstOfLine } from "./stand.ts";
import { inTurns, piecesOf } from "../few-at-once.ts";

/** Each question takes two reads; etcd takes at most 128 operations in a transaction. */
const QUESTIONS_PER_TXN = 60;

export async function lookAt(
  link: EtcdLink,
  prefix: string,
  questions: readonly Question[],
  signal: StopSignal,
): Promise<readonly Seat[]> {
  const chunks = piecesOf(questions, QUESTIONS_PER_TXN);
  const seats = await inTurns(chunks, (chunk) => lookAtChunk(link, prefix, chunk, signal));
  return seats.flat();
}

async function lookAtChunk(
  link: EtcdLink,
  prefix: string,
  questions: readonly Question[],
  signal: StopSignal,
): Promise<readonly Seat[]> {
  const asked = questions.map((question) => {
    const line = lineOf(prefix, question.name);
    const key = question.bid === undefined ? undefined : keyOf(prefix, question.name, question.session?.id ?? "");
    return { question, line, key };
  });
  const success = asked.flatMap(({ line, key }): Operation[] => [
    firstOfLine(line, false),
    { range: { key: key ?? line.start } },
  ]);
  const { header, responses } = await link.txn({ compare: [], success, failure: [] }, signal);
  const shown = await Promise.all(
    asked.map(async ({ question, line, key }, index) => {
      const own = key && responses[2 * index + 1]?.kvs[0];
      const first = await firstEntry(link, line, responses[2 * index]?.kvs[0], signal);
      const mine = own !== undefined && readRecord(own.value)?.bid === question.bid ? own : undefined;
      return { question, line, first, isAsked: key !== undefined, mine };
    }),
  );
  const behind = shown.flatMap(({ line, first, mine }) =>
    mine === undefined || first?.key.equals(mine.key) === true
      ? []
      : [{ line, key: mine.key, revision: mine.createRevision }],
  );
  const before = behind.length === 0 ? [] : await entriesBefore(link, behind, signal);
  const ahead = new Map(behind.map((place, index) => [place.line, countEntries(place.line, before[index])]));
  return shown.map(({ question, line, first, isAsked, mine }) =>
    seatOf(
      question,
      line,
      first,
      header,
      isAsked ? placeOf(mine, mine && ahead.has(line) ? ahead.get(line) : 0) : undefined,
    ),
  );
}

function countEntries(line: Line, before: readonly KeyValue[] | undefined): number | undefined {
  return before?.filter((kv) => kindOf(line, kv) === "entry").length;
}

/** If `ahead` is undefined, the entry has gone meanwhile. */
function placeOf(mine: KeyValue | undefined, ahead: number | undefined): Seat["place"] {
  return mine === undefined || ahead === undefined ? { present: false, ahead: 0 } : { present: true, ahead };
}

function seatOf(
  { name }: Question,
  line: Line,
  first: KeyValue | undefined,
  { revision, clusterId }: RangeResponse["header"],
  place: Seat["place"],
): Seat {
  const version = versionOf(first, revision);
  if (first === undefined) return { name, version, state: "vacant", place };
  const holder = holderOf(line, first, domainOf(clusterId));
  return { name, version, state: "held", holder, ttlMs: readRecord(first.value)?.ttlMs, place };
}

/** `shown` is the oldest key below the name. The whole line is read only if that key is no entry. */
export async function firstEntry(
  link: EtcdLink,
  line: Line,
  shown: KeyValue | undefined,
  signal: StopSignal,
): Promise<KeyValue | undefined> {
  if (shown === undefined || kindOf(line, shown) === "entry") return shown;
  const range = { key: line.start, rangeEnd: line.end, order: "oldest first", keysOnly: true } as const;
  const entry = (await link.range(range, signal)).kvs.find((kv) => kindOf(line, kv) === "entry");
  return entry && (await link.range({ key: entry.key }, signal)).kvs[0];
}

/** The first few entries of a line are enough, unless keys of longer names are mixed in: then all of it is read. */
const FIRST_FEW = 16;

/** Shows the candidate behind the entry that was made at revision `token.value`, if that entry is the first. This takes one linearizable read. */
export async function showNext(
  link: EtcdLink,
  prefix: string,
  name: Name,
  token: Token,
  signal: StopSignal,
): Promise<ShownNext> {
  const line = lineOf(prefix, name);
  const read = async (limit?: number): Promise<RangeResponse> =>
    await link.range({ key: line.start, rangeEnd: line.end, order: "oldest first", limit }, signal);
  const few = await read(FIRST_FEW);
  const entriesOf = ({ kvs }: RangeResponse): readonly KeyValue[] => kvs.filter((kv) => kindOf(line, kv) === "entry");
  const whole = entriesOf(few).length < 2 && few.more ? await read() : few;
  const [first, second] = entriesOf(whole);
  const domain = domainOf(whole.header.clusterId);
  if (first?.createRevision !== token.value || domain !== token.domain) return { kind: "not-leading" };
  return { kind: "next", candidate: second && holderOf(line, second, domain).candidate };
}

/**
 * The entries of the line whose lease has no node's key, read in one transaction. A session records its node before it makes an entry, and both keys go with the lease. So at every revision, an entry of a session with a
 * node has that key beside it.
 */
export async function showNodeless(
  link: EtcdLink,
  prefix: string,
  name: Name,
  signal: StopSignal,
): Promise<ShownNodeless> {
  const line = lineOf(prefix, name);
  const all: Operation = { range: { key: line.start, rangeEnd: line.end, order: "oldest first" } };
  const read = { compare: [], success: [all, readNodes(prefix)], failure: [] };
  const { header, responses } = await link.txn(read, signal);
  const withNode = new Set(responses[1]?.kvs.map(({ lease }) => lease));
  const entries = (responses[0]?.kvs ?? []).filter((kv) => kindOf(line, kv) === "entry" && !withNode.has(kv.lease));
  const candidates = entries.map((entry) => holderOf(line, entry, domainOf(header.clusterId)).candidate);
  return { kind: "nodeless", candidates };
}
