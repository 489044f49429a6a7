// @ts-check
// A shooter as a process of its own: runs one agent under a keeper, and prints how it ended. Arguments: the file with KeptAgents, how long its term lasts, the command of the agent.
const [, , file = "", remainingMs = "", ...argv] = process.argv;
const { KeptAgents } = await import(file);
const [seconds, nanoseconds] = process.hrtime();
const now = () => {
  const [s, n] = process.hrtime();
  const mono = s * 1000 + n / 1e6;
  return { mono, boot: mono };
};
const clock = {
  grain: { monoMs: 5, bootMs: 5 },
  now,
  timer: (/** @type {number} */ ms, /** @type {() => void} */ wake) => {
    const timer = setTimeout(wake, ms);
    return { cancel: () => clearTimeout(timer) };
  },
};
// On the clock that the test reads too.
const deadline = seconds * 1000 + nanoseconds / 1e6 + Number(remainingMs);
process.stdout.write(`deadline ${deadline}\n`);
const agents = new KeptAgents({ name: "shooter", clock });
const end = await agents.run(
  { argv },
  { killAt: () => ({ mono: deadline, boot: deadline }), mayBegin: async () => undefined },
);
process.stdout.write(`${JSON.stringify(end)}\n`);
await agents.close();
