// Requests in flight at once, and a server whose answers are spoiled: frames are lost, doubled, exchanged, cut, renumbered, changed in type, flags or content, and bytes are changed, lost and put in.
// What comes of each request is exactly what a second, simple reading of the protocol says (model.ts), and beside that: no whole answer has a part of another stream's, unless the very number of that
// part's frame was changed into the one that it came by. A failure prints the seed and the path that replay it.
import fc from "fast-check";
import { expect, it } from "vitest";
import { modelOf } from "./model.ts";
import {
  block,
  DATA,
  END,
  END_HEADERS,
  frame,
  GREETING,
  HEADERS,
  OK,
  type Sent,
  settled,
  TRAILERS,
  Wire,
} from "./wire.ts";

interface Part extends Sent {
  /** The stream whose answer it was made for. */
  readonly origin: number;
}

/** Each part of a body names its stream. */
function answerParts(stream: number, parts: number, hasTrailers: boolean, passing: number): Part[] {
  const part = (type: number, flags: number, content: Buffer): Part => ({
    type,
    flags,
    stream,
    content,
    origin: stream,
  });
  const data = Array.from({ length: parts }, (_, index) =>
    part(DATA, index === parts - 1 && !hasTrailers ? END : 0, Buffer.from(`<${stream}.${index}>`)),
  );
  return [
    ...Array.from({ length: passing }, () => part(HEADERS, END_HEADERS, block([":status", "100"]))),
    part(HEADERS, END_HEADERS | (parts === 0 && !hasTrailers ? END : 0), OK),
    ...data,
    ...(hasTrailers ? [part(HEADERS, END_HEADERS | END, TRAILERS)] : []),
  ];
}

/** In the order of the picks, of each answer the first part that is left. */
function interleaved(answers: readonly Part[][], picks: readonly number[]): Part[] {
  const left = answers.map((parts) => parts.slice());
  const mixed: Part[] = [];
  for (let turn = 0; left.some((parts) => parts.length > 0); turn++) {
    const open = left.filter((parts) => parts.length > 0);
    const next = open[(picks[turn % picks.length] ?? 0) % open.length]?.shift();
    if (next !== undefined) mixed.push(next);
  }
  return mixed;
}

const script = fc
  .record({
    answers: fc.array(
      fc.record({ parts: fc.nat(4), hasTrailers: fc.boolean(), passing: fc.constantFrom(0, 0, 0, 2) }),
      {
        minLength: 1,
        maxLength: 7,
      },
    ),
    picks: fc.array(fc.nat(100), { minLength: 1, maxLength: 30 }),
  })
  .map(({ answers, picks }) => ({
    count: answers.length,
    parts: interleaved(
      answers.map(({ parts, hasTrailers, passing }, index) => answerParts(2 * index + 1, parts, hasTrailers, passing)),
      picks,
    ),
  }));

const cuts = fc.array(fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 200 })), {
  minLength: 1,
  maxLength: 5,
});

/** What becomes of one frame. Of these only `renumber` changes the number of a stream, and none makes up a text that names one. */
const change = fc.tuple(
  fc.nat(60),
  fc.oneof(
    fc.constantFrom("lose", "double", "exchange").map((kind) => ({ kind, value: 0 })),
    fc.nat(15).map((value) => ({ kind: "renumber", value })),
    fc.constantFrom(1, 4, 8, 0x20).map((value) => ({ kind: "flag", value })),
    fc.nat(10).map((value) => ({ kind: "type", value })),
    fc.nat(8).map((value) => ({ kind: "cut", value })),
    fc.nat(8).map((value) => ({ kind: "spoil", value })),
  ),
);

function changed(
  parts: readonly Part[],
  changes: readonly (readonly [number, { kind: string; value: number }])[],
): Part[] {
  const all = parts.slice();
  for (const [where, { kind, value }] of changes) {
    const at = where % Math.max(1, all.length);
    const part = all[at];
    if (part === undefined) continue;
    const spoiled = Buffer.from(part.content);
    if (value < spoiled.length) spoiled[value] = 0x7e;
    if (kind === "lose") all.splice(at, 1);
    else if (kind === "double") all.splice(at, 0, part);
    else if (kind === "exchange") all.splice(at, 2, ...all.slice(at, at + 2).toReversed());
    else if (kind === "renumber") all[at] = { ...part, stream: value };
    else if (kind === "flag") all[at] = { ...part, flags: part.flags ^ value };
    else if (kind === "type") all[at] = { ...part, type: value };
    else if (kind === "cut") all[at] = { ...part, content: part.content.subarray(0, value) };
    else all[at] = { ...part, content: spoiled };
  }
  return all;
}

const bytesOf = (parts: readonly Sent[]): Buffer =>
  Buffer.concat(parts.map(({ type, flags, stream, content }) => frame(type, flags, stream, content)));

/** What became of each request when these bytes came, cut like that. */
async function outcomeOf(count: number, bytes: Buffer, lengths: readonly number[]) {
  const wire = new Wire();
  wire.say(GREETING);
  const heard = Array.from({ length: count }, () => wire.ask());
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const length = lengths[turn % lengths.length] ?? 1;
    wire.say(bytes.subarray(at, at + length));
    at += length;
  }
  const isBroken = wire.told.all.includes("closed");
  const streams = heard.map(({ end, body, fields }) => ({ end, body, blocks: fields.length }));
  wire.destroy();
  await settled();
  const settledEnds = heard.map(({ ends }) => ends.length);
  return { isBroken, streams, settledEnds };
}

it("no whole answer has a part of another, and each outcome is the one that the protocol says", async () => {
  const seen = { whole: 0, broken: 0, reset: 0 };
  await fc.assert(
    fc.asyncProperty(script, fc.array(change, { maxLength: 4 }), cuts, async ({ count, parts }, changes, lengths) => {
      const all = changed(parts, changes);
      const bytes = bytesOf(all);
      const { isBroken, streams, settledEnds } = await outcomeOf(count, bytes, lengths);
      for (const [index, { end, body }] of streams.entries()) {
        if (end !== "whole") continue;
        seen.whole++;
        const number = 2 * index + 1;
        const mayHave = all.filter(({ stream }) => stream === number).map(({ origin }) => String(origin));
        const has = [...body.matchAll(/<(\d+)\./g)].map(([, origin]) => origin);
        expect(has.filter((origin) => !mayHave.includes(origin ?? ""))).toEqual([]);
        if (changes.length === 0) expect(new Set(has).size).toBeLessThanOrEqual(1);
      }
      expect({ isBroken, streams }).toEqual(modelOf(count, bytes));
      expect(settledEnds).toEqual(streams.map(() => 1));
      if (changes.length === 0) expect(streams.map(({ end }) => end)).toEqual(streams.map(() => "whole"));
      if (isBroken) seen.broken++;
      if (streams.some(({ end }) => end?.startsWith("code") === true)) seen.reset++;
    }),
    { numRuns: 4000, seed: 2026 },
  );
  // Otherwise nearly nothing was tried.
  expect(Math.min(seen.whole / 10, seen.broken, seen.reset)).toBeGreaterThan(300);
});

const spot = fc.record({ at: fc.nat(2000), cut: fc.nat(3), put: fc.uint8Array({ maxLength: 4 }) });

it("bytes that are changed, lost or put in have the outcome that the protocol says", async () => {
  const seen = { whole: 0, broken: 0 };
  await fc.assert(
    fc.asyncProperty(
      script,
      fc.array(spot, { minLength: 1, maxLength: 3 }),
      fc.boolean(),
      cuts,
      async ({ count, parts }, spots, keepsLength, lengths) => {
        let bytes: Buffer = bytesOf(parts);
        for (const { at, cut, put } of spots) {
          const start = at % bytes.length;
          const after = start + (keepsLength ? put.length : cut);
          bytes = Buffer.concat([bytes.subarray(0, start), put, bytes.subarray(after)]);
          if (bytes.length === 0) return;
        }
        const { isBroken, streams, settledEnds } = await outcomeOf(count, bytes, lengths);
        expect({ isBroken, streams }).toEqual(modelOf(count, bytes));
        expect(settledEnds).toEqual(streams.map(() => 1));
        if (isBroken) seen.broken++;
        seen.whole += streams.filter(({ end }) => end === "whole").length;
      },
    ),
    { numRuns: 4000, seed: 2026 },
  );
  expect(Math.min(seen.whole, seen.broken)).toBeGreaterThan(300);
});

it("any bytes at all have the outcome that the protocol says", async () => {
  const garbage = fc.array(
    fc.oneof(
      fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
      fc
        .tuple(fc.nat(10), fc.nat(63), fc.nat(7), fc.uint8Array({ maxLength: 12 }))
        .map(([type, flags, stream, content]) => frame(type, flags, stream, content)),
    ),
    { maxLength: 12 },
  );
  await fc.assert(
    fc.asyncProperty(garbage, cuts, async (pieces, lengths) => {
      const bytes = Buffer.concat(pieces);
      const { isBroken, streams } = await outcomeOf(3, bytes, lengths);
      expect({ isBroken, streams }).toEqual(modelOf(3, bytes));
    }),
    { numRuns: 3000, seed: 2026 },
  );
});
