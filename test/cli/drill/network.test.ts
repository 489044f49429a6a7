// The cable by which `conclave drill` cuts a candidate off: real network namespaces, as root on Linux.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Cable, whyNotCut } from "../../../src/cli/drill/network.ts";

let server: Server;
let address: { readonly host: string; readonly port: number };

beforeEach(async () => {
  expect(process.geteuid?.(), "this test needs root").toBe(0);
  server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  address = { host: "127.0.0.1", port: (server.address() as AddressInfo).port };
});
afterEach(() => server.close());

const spaces = (): string => spawnSync("ip", ["netns", "list"], { encoding: "utf8" }).stdout;
const ours = `ccdrill-${process.pid}-`;

/** Whether something that was sent into the cable is not acknowledged yet. Addresses in /proc/net/tcp are hexadecimal, backwards: 198.18.… and 198.19.… */
const isUnderWay = (): boolean =>
  /^ *\d+: [0-9A-F]{4}1[23]C6:\S+ \S+ 01 (?!00000000)/m.test(readFileSync("/proc/net/tcp", "latin1"));

it("when removed ends what went through it, also where the other end is gone without a word", async () => {
  const cable = await Cable.lay(60, [address]);
  const program = `require("node:net").connect(${address.port}, "127.0.0.1").on("data", () => {}).on("error", () => {})`;
  const [command, ...args] = [...cable.prefix, process.execPath, "-e", program];
  const client = spawn(command, args, { stdio: "ignore" });
  const [socket] = (await once(server, "connection")) as [Socket];
  const closed = once(socket, "close");
  socket.on("error", () => {}).resume();
  cable.cut();
  socket.write("never acknowledged");
  await vi.waitFor(() => expect(isUnderWay()).toBe(true), { timeout: 5000, interval: 20 });
  client.kill("SIGKILL");
  await once(client, "exit");
  expect(spaces()).toContain(ours);
  cable.remove();
  await closed;
  expect(spaces()).not.toContain(ours);
}, 20_000);

it("when cut lets nothing through in either direction, and everything once it is mended", async () => {
  const cable = await Cable.lay(62, [address]);
  try {
    const program = `const socket = require("node:net").connect(${address.port}, "127.0.0.1"); process.stdin.pipe(socket).pipe(process.stdout)`;
    const [command, ...args] = [...cable.prefix, process.execPath, "-e", program];
    const client = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
    const [socket] = (await once(server, "connection")) as [Socket];
    const heard = { here: "", there: "" };
    socket.on("error", () => {}).on("data", (data) => (heard.here += data.toString()));
    client.stdout.on("data", (data: Buffer) => (heard.there += data.toString()));
    cable.cut();
    client.stdin.write("out");
    socket.write("in");
    await vi.waitFor(() => expect(isUnderWay()).toBe(true), { timeout: 5000, interval: 20 });
    // Several retransmissions: the first come after 200 and 600 ms.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect(heard).toEqual({ here: "", there: "" });
    cable.mend();
    await vi.waitFor(() => expect(heard).toEqual({ here: "out", there: "in" }), { timeout: 10_000, interval: 50 });
    client.kill("SIGKILL");
    await once(client, "exit");
  } finally {
    cable.remove();
  }
}, 20_000);

it("that cannot be laid leaves nothing behind", async () => {
  await expect(Cable.lay(61, [address, { host: "nowhere.invalid", port: 1 }])).rejects.toThrow(/nowhere\.invalid/);
  expect(spaces()).not.toContain(ours);
});

it("is not laid to where it cannot lead", () => {
  expect(whyNotCut([])).toMatch(/not reached over a network/);
  expect(whyNotCut([{ host: "::1", port: 5432 }])).toMatch(/IPv4/);
  expect(whyNotCut([address])).toBeUndefined();
});
