// An old primary of Redis that answers late while it hands over: what it says counts all the same. An answer that is not waited for would be an unknown outcome, for which the server is killed with what only it has.
import { type AddressInfo, createServer, type Server } from "node:net";
import { afterEach, expect, it } from "vitest";
import { redisReplication, type ServerSpec } from "conclave/failover";

const TIMEOUT_MS = 100;
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** Speaks as much of Redis as a hand-over needs. `lateMs`: how long it takes to pause writes. */
async function fake(name: string, role: "master" | "slave", lateMs: number): Promise<ServerSpec> {
  let present: string = role;
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (data) => {
      const words = data
        .toString("latin1")
        .split("\r\n")
        .filter((part) => !/^[*$]/.test(part) && part !== "");
      const [command = ""] = words;
      if (command === "REPLICAOF") present = "slave";
      const info = `role:${present}\r\nmaster_replid:h\r\nmaster_repl_offset:7\r\nslave_repl_offset:7\r\nslave_read_repl_offset:7\r\nloading:0\r\nprocess_id:1\r\n`;
      const answer = command === "INFO" ? `$${info.length}\r\n${info}\r\n` : "+OK\r\n";
      setTimeout(() => socket.write(answer), words[1] === "PAUSE" ? lateMs : 0);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { name, url: `redis://127.0.0.1:${port}`, host: "127.0.0.1", port, priority: 100 };
}

it("waits for an old primary that is late to pause its writes: the hand-over is done", async () => {
  const [old, to] = [await fake("a", "master", 3 * TIMEOUT_MS), await fake("b", "slave", 0)];
  const link = await redisReplication({ a: old, b: to }, { timeoutMs: TIMEOUT_MS }).connect(old);
  expect(await link.retire(to, 5000)).toBe("done");
  link.close();
});

it("leaves a primary in its place that says nothing for as long as the whole may take: nobody has told it to become a replica", async () => {
  const [old, to] = [await fake("a", "master", 60_000), await fake("b", "slave", 0)];
  const link = await redisReplication({ a: old, b: to }, { timeoutMs: TIMEOUT_MS }).connect(old);
  expect(await link.retire(to, 300)).toBe("not-done");
  link.close();
});

it("leaves a primary in its place whose successor cannot be reached", async () => {
  const old = await fake("a", "master", 0);
  const gone: ServerSpec = { name: "b", url: "redis://127.0.0.1:1", host: "127.0.0.1", port: 1, priority: 100 };
  const link = await redisReplication({ a: old, b: gone }, { timeoutMs: TIMEOUT_MS }).connect(old);
  expect(await link.retire(gone, 300)).toBe("not-done");
  expect(await link.view()).toMatchObject({ role: "primary" });
  link.close();
});
