// @ts-check
// Conclave on etcd in a process of its own, which does what it is told: one command a line on stdin, one answer a line on stdout. The commands are those of
// bench/peers/go-etcd.go, whose head explains them, so that both are measured in the same way.   argument: URL
import { createInterface } from "node:readline";
import { createCandidate } from "conclave";
import { etcd } from "conclave/stores/etcd";

const LOCK_TTL_MS = 15_000;
const [url = ""] = process.argv.slice(2);
const store = etcd(url);
/** @type {{ candidate: import("conclave").Candidate, terms: import("conclave").Term[] } | undefined} */
let holding;
/** @type {import("conclave").Candidate | undefined} */
let locking;

/** @type {Record<string, (...args: string[]) => Promise<string>>} */
const commands = { hold, held, give, wait, lock, cpu };
for await (const line of createInterface({ input: process.stdin })) {
  const [command = "", ...args] = line.split(" ");
  const obey = commands[command];
  if (obey === undefined) throw new Error(`unknown command: ${command}`);
  process.stdout.write(`ok ${await obey(...args)}\n`);
}
process.exit(0);

/** @param {string[]} args */
async function hold(...args) {
  const [count = 0, ttl = 0] = args.map(Number);
  const begun = performance.now();
  const candidate = createCandidate({ store, ttlMs: ttl * 1000, drainMs: 100 });
  const names = Array.from({ length: count }, (_, index) => `held-${index}`);
  const terms = await Promise.all(names.map((name) => candidate.election(name).campaign()));
  holding = { candidate, terms };
  return `${performance.now() - begun}`;
}

async function held() {
  return `${holding?.terms.filter((term) => term.isHeld()).length ?? 0}`;
}

async function give() {
  await holding?.candidate.close();
  holding = undefined;
  return "";
}

/** @param {string} name @param {string[]} args */
async function wait(name = "", ...args) {
  const [count = 0, ttl = 0] = args.map(Number);
  for (let index = 0; index < count; index++)
    void createCandidate({ store, ttlMs: ttl * 1000, id: `waiter-${index}` })
      .election(name)
      .campaign();
  return "";
}

/** @param {string[]} args */
async function lock(...args) {
  const [count = 0, ms = 0] = args.map(Number);
  const candidate = (locking ??= createCandidate({ store, ttlMs: LOCK_TTL_MS }));
  let times = 0;
  const begun = performance.now();
  const one = async (/** @type {number} */ index) => {
    for (; performance.now() - begun < ms; times++) await candidate.withLock(`lock-${index}`, async () => {});
  };
  await Promise.all(Array.from({ length: count }, (_, index) => one(index)));
  return `${times} ${performance.now() - begun}`;
}

async function cpu() {
  const { user, system } = process.cpuUsage();
  return `${user + system}`;
}
