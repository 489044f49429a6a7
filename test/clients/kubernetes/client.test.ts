// What becomes of a request to an API server when something else answers, or nothing does: done, not done, or unknown, with words that say what it was.
import { afterEach, expect, it } from "vitest";
import type { Access } from "../../../src/clients/kubernetes/access.ts";
import { KubernetesClient } from "../../../src/clients/kubernetes/client.ts";
import type { KubernetesError } from "../../../src/clients/kubernetes/errors.ts";
import { answerOf, type Heard, puppet } from "../http/puppet.ts";

const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

interface Asking {
  readonly client: KubernetesClient;
  readonly heard: readonly Heard[];
  readonly send: (body?: unknown) => Promise<unknown>;
  /** The error of a request that must fail. */
  readonly problem: () => Promise<KubernetesError>;
}

async function asking(answer: (heard: Heard) => void, access: Partial<Access> = {}): Promise<Asking> {
  const server = await puppet(answer);
  const client = new KubernetesClient({
    server: `http://127.0.0.1:${server.port}/base`,
    ca: () => undefined,
    skipsVerification: false,
    credentials: { get: () => ({ token: "a-token" }) },
    namespace: "n",
    origin: "a test",
    ...access,
  });
  ends.push(
    () => server.stop(),
    () => client.close(),
  );
  const send = (body: unknown = { a: 1 }) => client.send("PUT", "/x?y=z", body, new AbortController().signal);
  const problem = async () => (await send().catch((error: unknown) => error)) as KubernetesError;
  return { client, heard: server.heard, send, problem };
}

const says = (text: string) => (heard: Heard) => void heard.socket.write(text);
const saysLast = (text: string) => (heard: Heard) => void heard.socket.end(text);

it("a request says what it wants, where, as whom and with what", async () => {
  const { heard, send } = await asking(says(answerOf('{"b":2}')));
  expect(await send()).toEqual({ status: 200, json: { b: 2 } });
  const [head = "", body] = heard[0]?.text.split("\r\n\r\n") ?? [];
  expect(body).toBe('{"a":1}');
  expect(head.split("\r\n")).toEqual([
    "PUT /base/x?y=z HTTP/1.1",
    expect.stringMatching(/^host: 127\.0\.0\.1:\d+$/),
    "accept: application/json",
    "user-agent: conclave",
    "authorization: Bearer a-token",
    "content-type: application/json",
    "content-length: 7",
  ]);
});

it.each([
  ["no HTTP", says("SSH-2.0-x\r\n"), "unknown", /gave no answer of HTTP\/1\.1: an answer begins with "SSH-2\.0-x/],
  [
    "two lengths",
    says("HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}"),
    "unknown",
    /two headers content-length/,
  ],
  ["two answers", says(answerOf("{}") + answerOf("{}")), "unknown", /no answer to any request/],
  ["half an answer", saysLast("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}"), "unknown", /the connection was lost/],
  ["no JSON", says(answerOf("<html>")), "unknown", /answered 200 with something that is no JSON/],
  [
    "a timeout of an idle connection",
    says("HTTP/1.1 408 Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"),
    "unknown",
    /answered 408/,
  ],
  [
    "a redirect",
    says("HTTP/1.1 302 Found\r\nlocation: /y\r\ncontent-length: 0\r\n\r\n"),
    "not-applied",
    /answered 302/,
  ],
  [
    "that it expects TLS",
    saysLast("HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"),
    "not-applied",
    /answered 400 \(Client sent an HTTP request to an HTTPS server\.\)/,
  ],
])("a server that says %s has not simply failed", async (_, answer, outcome, words) => {
  const { problem } = await asking(answer);
  const error = await problem();
  expect(error).toMatchObject({ name: "KubernetesError", outcome });
  expect(error.message).toMatch(words);
});

it("a credential that cannot be written into a header is refused without being shown, and nothing is sent", async () => {
  const { heard, problem, client } = await asking(says(answerOf("{}")), {
    credentials: { get: () => ({ token: "secret\r\nx-remote-user: root" }) },
  });
  const error = await problem();
  expect(error).toMatchObject({ problem: "unknown-user", outcome: "not-applied" });
  expect(error.message).toMatch(/the header "authorization" has a character that HTTP does not allow/);
  expect(JSON.stringify([error.message, String(error.stack), String(error.cause)])).not.toContain("secret");
  const over = await new Promise((resolve) =>
    client.watch("/x", {}, 10_000, { begun: () => {}, hear: () => {}, over: resolve }),
  );
  expect(over).toMatchObject({ problem: "unknown-user" });
  expect(heard).toEqual([]);
});

it("a request that was refused with 401 is sent once more with a newer credential, and another one with that", async () => {
  let token = "old";
  const { heard, send } = await asking(
    ({ text, socket }) =>
      void socket.write(text.includes("Bearer new") ? answerOf("{}") : "HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n"),
    { credentials: { get: (refused) => ({ token: refused === undefined ? token : (token = "new") }) } },
  );
  expect(await Promise.all([send(), send()])).toHaveLength(2);
  expect(await send()).toMatchObject({ status: 200 });
  expect(heard.filter(({ text }) => text.includes("Bearer new"))).toHaveLength(3);
});

it("a watch hears each event once it is whole, in whatever parts it comes, until the server ends it", async () => {
  const event = (n: number) => `{"type":"ADDED","object":{"n":${n},"word":"é𝕏"}}\n`;
  const bytes = Buffer.from(event(1) + event(2));
  const { client } = await asking(({ socket }) => {
    socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
    for (const byte of bytes) socket.write(Buffer.concat([Buffer.from("1\r\n"), Buffer.of(byte), Buffer.from("\r\n")]));
    socket.write("0\r\n\r\n");
  });
  const heard: unknown[] = [];
  const over = await new Promise((resolve) =>
    client.watch("/x", { watch: "1" }, 10_000, {
      begun: () => heard.push("begun"),
      hear: (one) => heard.push(one),
      over: resolve,
    }),
  );
  expect(over).toBe(undefined);
  expect(heard).toEqual(["begun", ...[1, 2].map((n) => ({ type: "ADDED", object: { n, word: "é𝕏" } }))]);
});

it.each([
  ["was cut off", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}", /the connection was lost/],
  ["was refused", "HTTP/1.1 403 No\r\ncontent-length: 2\r\n\r\nno", /a watch/],
  ["was answered with no HTTP", "SSH-2.0-x\r\n", /gave no answer of HTTP/],
  [
    "has a line that is no event",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\n{}\n\r\n",
    /a line of a watch is no event/,
  ],
])("a watch that %s is over with an error", async (_, text, words) => {
  const { client } = await asking(({ socket }) => void socket.end(text));
  const over = await new Promise((resolve) =>
    client.watch("/x", {}, 10_000, { begun: () => {}, hear: () => {}, over: resolve }),
  );
  expect((over as Error).message).toMatch(words);
});
