// The first minute of somebody who tries it, in a real process with the built package: what is wrong is on stderr within seconds, by itself.
import { spawn } from "node:child_process";
import { createServer, type Server } from "node:net";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A server that speaks no TLS, and nothing else that anybody understands. */
let plain: Server;
let plainPort = 0;
/** A port on which nobody listens. */
let closedPort = 0;
beforeAll(async () => {
  plain = createServer((socket) => void socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  const gone = createServer();
  for (const server of [plain, gone]) await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  plainPort = (plain.address() as AddressInfo).port;
  closedPort = (gone.address() as AddressInfo).port;
  await new Promise((resolve) => gone.close(resolve));
});
afterAll(() => plain.close());

/** Runs `script` until stderr has a line that matches `until`, or the process ends. */
async function stderrOf(script: string, until: RegExp, env: NodeJS.ProcessEnv = {}): Promise<string> {
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
    if (until.test(said)) child.kill("SIGKILL");
  });
  await new Promise((resolve) => child.on("close", resolve));
  return said;
}

const leadAt = (url: string): string => `
  import { elect, openStore, shutdownSignal } from "conclave";
  const store = await openStore(${JSON.stringify(url)});
  await elect("nightly-billing", { store, ttlMs: 6000, unfenced: true }).lead(async (term) => { await term.ended; }, { signal: shutdownSignal() });`;

describe("the README's own code", () => {
  it.each([
    ["an etcd that is down", () => `etcd://ann:geheim@127.0.0.1:${closedPort}`],
    ["a host that does not exist", () => "etcd://ann:geheim@no-such-host.invalid:2379"],
    ["a PostgreSQL that is down", () => `postgres://ann:geheim@127.0.0.1:${closedPort}/app`],
  ])("on %s says who, which store, why, and that it goes on trying", async (_what, url) => {
    const said = await stderrOf(leadAt(url()), /goes on trying|\n\s+at /);
    expect(said).toMatch(/\[CONCLAVE_STORE_(?:UNREACHABLE|TIMEOUT)\] ConclaveWarning: \S+: /);
    expect(said).toMatch(/Store: \w+ \((?:etcds?|postgres):\/\/(?:127\.0\.0\.1|no-such-host)/);
    expect(said).toMatch(/It goes on trying/);
    expect(said).not.toMatch(/geheim/);
  });

  it("on etcds:// to a server without TLS is rejected, and says what to write", async () => {
    const said = await stderrOf(leadAt(`etcds://ann:geheim@127.0.0.1:${plainPort}`), /goes on trying|\n\s+at /);
    expect(said).toMatch(/does not speak TLS: write etcd:\/\//);
    expect(said).not.toMatch(/geheim/);
  });

  it("without a URL, says that none was given", async () => {
    const script = `import { openStore } from "conclave"; await openStore(process.env.NOT_SET);`;
    expect(await stderrOf(script, /\n\s+at /)).toMatch(
      /openStore: undefined is not a URL\. Is the environment variable set\?/,
    );
  });
});

it("NODE_DEBUG=conclave prints the lines of the log, and then no warnings", async () => {
  const script = leadAt(`etcd://127.0.0.1:${closedPort}`);
  const said = await stderrOf(script, /error .*STORE_UNREACHABLE/, { NODE_DEBUG: "conclave" });
  expect(said).toMatch(/CONCLAVE \d+: \S+ standing election="nightly-billing"/);
  expect(said).toMatch(/CONCLAVE \d+: \S+ error .*code="STORE_UNREACHABLE"/);
  expect(said).not.toMatch(/ConclaveWarning/);
});

it("work that runs on after its term is told once by the name of its election", async () => {
  const script = `
    import { createCandidate } from "conclave";
    import { memory } from "conclave/stores/memory";
    await createCandidate({ store: memory(), ttlMs: 400, drainMs: 50 }).withLock("x", () => {
      for (const until = Date.now() + 600; Date.now() < until; );
      return new Promise((resolve) => setTimeout(resolve, 60_000));
    });`;
  const said = await stderrOf(script, /still running/);
  expect(said).toMatch(/\[CONCLAVE_TERM_OVERSTAYED\] ConclaveWarning: \S+: "x": work still running/);
});
