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
