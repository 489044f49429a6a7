// A connection and the process: nothing that is kept for later requests keeps a program from ending.
import { expect, it } from "vitest";
import { answerOf, Client, type Heard, puppet } from "./puppet.ts";

it("only a request that waits keeps the process alive", async () => {
  const held: Heard[] = [];
  const server = await puppet((heard) => void held.push(heard));
  const { pool, text } = asking(server.port);
  const answer = (index: number) => void held[index]?.socket.write(answerOf("ok"));
  const kept = () => process.getActiveResourcesInfo().filter((kind) => kind === "TCPSocketWrap").length;
  const first = text();
  await server.hasHeard(1);
  for (const socket of server.sockets) socket.unref();
  const whileWaiting = kept();
  answer(0);
  await first;
  const whileIdle = kept();
  expect(whileIdle).toBe(whileWaiting - 1);
  const second = text();
  expect(kept()).toBe(whileWaiting);
  await server.hasHeard(2);
  answer(1);
  await second;
  expect(kept()).toBe(whileIdle);
  pool.close();
  await server.stop();
});

function asking(port: number): { readonly pool: Client["pool"]; readonly text: () => Promise<string> } {
  const client = new Client(port);
  return { pool: client.pool, text: () => client.text() };
}
