// A guarded server that strangers can reach. Without signatures anybody can invent a token, and a huge one locks every leader out. With them the server takes only what
// a key that it knows has signed, for this very resource, and not long ago. Then it compares tokens as every guard does.
//
// What this does not help against: a candidate that has the private key. It can sign what it likes. So each candidate gets a key of its own.
//
//   npm run build && node examples/signed-token/main.mjs
import { generateKeyPairSync } from "node:crypto";
import { createCandidate, parseToken } from "conclave";
import { fencedHandler, fencingHeaders, memoryFence, signToken } from "conclave/fencing";
import { memory } from "conclave/stores/memory";

const store = memory();
const first = createCandidate({ store, id: "first", ttlMs: 1_000 });
const second = createCandidate({ store, id: "second", ttlMs: 1_000 });
const replaced = await first.election("price").campaign();
await replaced.resign();
const leader = await second.election("price").campaign();

const current = generateKeyPairSync("ed25519"); // the private half is with the candidates, the public half with the server
const upcoming = generateKeyPairSync("ed25519");
const stranger = generateKeyPairSync("ed25519");

/** Requests that never leave this process. @param {(request: Request) => Promise<Response>} serve @param {Parameters<typeof fencingHeaders>[0]} by */
async function ask(serve, by) {
  const response = await serve(new Request("http://prices.example/", { headers: fencingHeaders(by) }));
  if (response.ok) return `${response.status}`;
  const { code } = /** @type {{ code: string }} */ (await response.json());
  return `${response.status} ${code}`;
}

const open = fencedHandler(memoryFence(), "prices", () => new Response());
const invented = { token: parseToken(`${leader.token.domain}:999999:stranger`) };
const [strange, lockedOut] = [await ask(open, invented), await ask(open, leader)];
console.log(`without signatures: a stranger's token 999999: ${strange}, and then the leader: ${lockedOut}`);

let nowMs = Date.now(); // moved by hand, so that the example need not wait
const keys = [current.publicKey];
const verify = { keys: () => keys, election: "price", skewMs: 1_000, now: () => nowMs };
const guarded = fencedHandler(memoryFence({ verify }), "prices", () => new Response());

/** @param {import("conclave").Term} term */
const sign = (term, key = current.privateKey, audience = "prices") =>
  signToken(term, key, { audience, ttlMs: 5_000, now: () => nowMs });

const token = sign(leader);
console.log(`with signatures:    the leader: ${await ask(guarded, token)}`);
const altered = { signed: token.signed.replace(`:${leader.token.value}:`, ":999999:") };
/** @type {[string, Parameters<typeof fencingHeaders>[0], number][]} */
const others = [
  ["forged by a stranger:", sign(leader, stranger.privateKey), 0],
  ["altered on its way:", altered, 0],
  ["for another resource:", sign(leader, current.privateKey, "salaries"), 0],
  ["not signed:", leader, 0],
  ["copied, and sent again too late:", token, 6_000],
  ["of a leader that was replaced:", sign(replaced), 0],
];
const answers = [];
for (const [what, by, laterMs] of others) {
  nowMs += laterMs;
  const answer = await ask(guarded, by);
  nowMs -= laterMs;
  answers.push(answer);
  console.log(`  ${what.padEnd(38)} ${answer}`);
}
const early = await ask(guarded, sign(leader, upcoming.privateKey));
keys.push(upcoming.publicKey); // first at every resource, then at the candidates; then the old one is taken away
const accepted = await ask(guarded, sign(leader, upcoming.privateKey));
console.log(`  ${"signed with the next key:".padEnd(38)} ${early}, and ${accepted} once that key is accepted`);

await Promise.all([first.close(), second.close()]);
const refused =
  answers.every((answer) => /^(?:403|412) /.test(answer)) && early.startsWith("403") && accepted === "200";
if (strange !== "200" || !lockedOut.startsWith("412") || !refused) process.exitCode = 1;
