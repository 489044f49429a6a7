// shutdownSignal in a real process with real signals: the first asks, the second kills.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Runs a child that leads until asked to stop; resolves with what it printed and how it ended. */
async function lead(
  work: string,
  signals: readonly NodeJS.Signals[],
): Promise<{ readonly said: string; readonly code: number | null; readonly signal: NodeJS.Signals | null }> {
  const script = `
    import { elect, shutdownSignal } from "conclave";
    import { memory } from "conclave/stores/memory";
    const result = await elect("x", { store: memory(), ttlMs: 2000 }).lead(async (term) => { console.log("leading"); ${work} }, { signal: shutdownSignal() });
    console.log("released", result);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  let sent = 0;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
    const signal = signals[sent];
    if (signal !== undefined && said.split("\n").length > sent + 1) {
      sent++;
      child.kill(signal);
    }
  });
  return new Promise((resolve) => child.on("close", (code, signal) => resolve({ said, code, signal })));
}

it.each(["SIGTERM", "SIGINT"] as const)(
  "%s ends lead after the work has settled, and the process ends by itself",
  async (signal) => {
    const { said, code } = await lead("await term.ended; console.log('stopped');", [signal]);
    expect(said).toBe("leading\nstopped\nreleased undefined\n");
    expect(code).toBe(0);
  },
);

it("a second signal kills as usual", async () => {
  const { signal } = await lead(
    "await term.ended; console.log('stopping'); await new Promise(() => setInterval(() => {}, 1000));",
    ["SIGTERM", "SIGTERM"],
  );
  expect(signal).toBe("SIGTERM");
});

it("a process that does not end by itself is ended at its deadline, and says what kept it alive", async () => {
  const script = `
    import { createServer } from "node:net";
    import { elect, shutdownSignal } from "conclave";
    import { memory } from "conclave/stores/memory";
    const signal = shutdownSignal({ exitWithinMs: 300 });
    createServer().listen(0, "127.0.0.1");
    setInterval(() => {}, 1000);
    await elect("stuck", { store: memory() }).lead(async () => { console.log("leading"); await new Promise(() => {}); }, { signal });`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { cwd: root, stdio: "pipe" });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  child.stdout.once("data", () => child.kill("SIGTERM"));
  const code = await new Promise((resolve) => child.on("close", resolve));
  expect(code).toBe(1);
  expect(said).toMatch(/still running 300 ms after SIGTERM\. What keeps the process alive:/);
  expect(said).toMatch(/the election "stuck": its work has not ended/);
  expect(said).toMatch(/1 × TCPServerWrap, a server that listens: server\.close\(\)/);
  expect(said).toMatch(/\d × Timeout, a timer/);
});

it("a deadline of a month lets the work drain: a timer that is too long would fire at once", async () => {
  const script = `
    import { elect, shutdownSignal } from "conclave";
    import { memory } from "conclave/stores/memory";
    const drain = async (term) => { console.log("leading"); await term.ended; setTimeout(() => console.log("drained"), 50); };
    await elect("x", { store: memory() }).lead(drain, { signal: shutdownSignal({ exitWithinMs: 2_592_000_000 }) });`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { cwd: root, stdio: "pipe" });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
  child.stdout.once("data", () => child.kill("SIGTERM"));
  const code = await new Promise((resolve) => child.on("close", resolve));
  expect([said, code]).toEqual(["leading\ndrained\n", 0]);
});

it("without a deadline, work that goes on after the signal is named in a warning", async () => {
  const script = `
    const later = setTimeout;
    globalThis.setTimeout = (run, ms) => later(run, ms === 5_000 ? 50 : ms); // the five seconds are over soon
    const { elect, shutdownSignal } = await import("conclave");
    const { memory } = await import("conclave/stores/memory");
    const work = elect("deaf", { store: memory() }).lead(async () => { console.log("leading"); await new Promise(() => {}); }, { signal: shutdownSignal() });
    await work;`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { cwd: root, stdio: "pipe" });
  let said = "";
  child.stdout.once("data", () => child.kill("SIGINT"));
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
    if (said.includes("exitWithinMs")) child.kill("SIGINT");
  });
  const signal = await new Promise((resolve) => child.on("close", (_code, signal) => resolve(signal)));
  expect(said).toMatch(/CONCLAVE_STILL_RUNNING.*5 s after SIGINT: the work of "deaf" has not ended/);
  expect(signal).toBe("SIGINT");
});

it("a deadline does not keep alive a process that has nothing left to do", async () => {
  const script = `
    import { elect, shutdownSignal } from "conclave";
    import { memory } from "conclave/stores/memory";
    const election = elect("x", { store: memory() });
    election.start();
    shutdownSignal({ exitWithinMs: 60_000 }).addEventListener("abort", () => election.close());
    console.log("up");`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { cwd: root, stdio: "pipe" });
  child.stdout.once("data", () => child.kill("SIGTERM"));
  const code = await new Promise((resolve) => child.on("close", resolve));
  expect(code).toBe(0);
});
