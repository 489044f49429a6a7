// Plays the platform for function.mjs: two instances as processes, of which the first is frozen (SIGSTOP) between two calls, for longer than its ttl. The second takes over
// with a greater token; the first, when it is thawed and called again, finds its term over before it does anything.
//
//   npm run build && npm run servers -- dynamodb
//   CONCLAVE_STORE='dynamodb://…' node examples/serverless/frozen.mjs
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const TTL_MS = Number(process.env["TTL_MS"] ?? 3_000);
const program = fileURLToPath(new URL("function.mjs", import.meta.url));

/** @param {string} name */
const instance = (name) => fork(program, { env: { ...process.env, INSTANCE: name, TTL_MS: `${TTL_MS}` } });

/** A call that fails is made again, as platforms do. @param {string} name @param {import("node:child_process").ChildProcess} child @param {number} patienceMs */
const call = async (name, child, patienceMs = 0) => {
  for (;;) {
    const died = once(child, "exit").then(() => Promise.reject(new Error(`${name} has died`)));
    const answered = Promise.race([once(child, "message"), died]);
    child.send({ patienceMs });
    const [{ answer, failed }] = await answered;
    if (answer !== undefined) return console.log(`${name}: ${answer}`);
    console.error(`${name}: ${failed}`);
  }
};

const [one, two] = [instance("one"), instance("two")];
await call("one", one);
await call("one", one);
one.kill("SIGSTOP");
console.log("one is frozen");
await call("two", two);
await call("two", two, 5 * TTL_MS);
one.kill("SIGCONT");
console.log("one is thawed");
await call("one", one);
await call("two", two);
for (const child of [one, two]) {
  child.disconnect();
  await once(child, "exit");
}
