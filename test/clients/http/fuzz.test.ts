// Bytes that no server would send, and bytes that one would with a few changed: the reader either reads answers or refuses, keeps no more than a head may have, and comes to an end. What it accepts, it
// accepts in the same way however the bytes are cut.
import fc from "fast-check";
import { expect, it } from "vitest";
import { HttpError } from "../../../src/clients/http/errors.ts";
import { answerOf, Client, puppet } from "./puppet.ts";
import { HttpAnswerReader } from "../../../src/clients/http/answer-reader.ts";

const MODELS = [
  "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nx: y\r\n\r\nhello",
  "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nt: u\r\n\r\n",
  "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
  "HTTP/1.0 400 Bad Request\r\nconnection: close\r\n\r\nclosed",
];
const PIECES = [
  "\r",
  "\n",
  "\r\n",
  ":",
  ";",
  "0",
  "5",
  "ffffffff",
  "\0",
  " ",
  "\t",
  "\xff",
  ",",
  "chunked",
  "HTTP/1.1 200 OK\r\n",
];

const spoiled = fc
  .tuple(
    fc.constantFrom(...MODELS),
    fc.array(fc.tuple(fc.nat(80), fc.nat(3), fc.constantFrom(...PIECES, "")), { maxLength: 4 }),
  )
  .map(([model, changes]) =>
    changes.reduce((text, [at, cut, put]) => text.slice(0, at) + put + text.slice(at + cut), model),
  );

/** What became of the bytes: the answers, and the problem. */
function readIn(parts: readonly string[]): {
  readonly body: string;
  readonly whole: number;
  readonly problem: boolean;
} {
  const seen = { body: "", whole: 0, problem: false };
  const reader = new HttpAnswerReader({
    head: () => {},
    part: (bytes) => void (seen.body += bytes.toString("latin1")),
    whole: () => void seen.whole++,
  });
  reader.expect();
  try {
    for (const part of parts) reader.take(Buffer.from(part, "latin1"));
    reader.finish();
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    seen.problem = true;
  }
  return seen;
}

it("spoiled answers are read the same however they are cut, and never as two", () => {
  fc.assert(
    fc.property(spoiled, fc.array(fc.nat(90), { maxLength: 5 }), (text, cuts) => {
      const at = [0, ...cuts.filter((cut) => cut < text.length).toSorted((a, b) => a - b), text.length];
      const parts = at.slice(1).map((end, index) => text.slice(at[index], end));
      const whole = readIn([text]);
      expect(whole.whole).toBeLessThanOrEqual(1);
      const cut = readIn(parts.filter((part) => part !== ""));
      const single = readIn(text.split(""));
      // A problem may be seen earlier, and then less of the body was passed on.
      expect({ whole: cut.whole, problem: cut.problem }).toEqual({ whole: whole.whole, problem: whole.problem });
      expect({ whole: single.whole, problem: single.problem }).toEqual({ whole: whole.whole, problem: whole.problem });
      if (!whole.problem) expect([cut.body, single.body]).toEqual([whole.body, whole.body]);
    }),
    { numRuns: 3000 },
  );
});

it("any bytes come to an end", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 20 }), (parts) => {
      readIn(parts.map((part) => Buffer.from(part).toString("latin1")));
    }),
    { numRuns: 2000 },
  );
});

it("a server that sends spoiled answers costs each request its answer at most, and none hangs", async () => {
  let text = "";
  const server = await puppet(({ socket, text: asked }) =>
    asked.includes("/whole") ? void socket.write(answerOf("whole")) : void socket.end(Buffer.from(text, "latin1")),
  );
  await fc.assert(
    fc.asyncProperty(spoiled, async (bytes) => {
      text = bytes;
      const client = new Client(server.port);
      const ended: unknown = await client.ask("/spoiled", "{}").catch((error: unknown) => error);
      if (ended instanceof Error) expect(["unanswered", "malformed"]).toContain((ended as HttpError).problem);
      await server.hasClosed(server.sockets.length - 1);
      expect(await client.text("/whole")).toBe("whole");
      client.pool.close();
    }),
    { numRuns: 200 },
  );
  await server.stop();
});
