// A connection and the process: nothing that is kept for later requests keeps a program from ending.
import { connect, type Socket } from "node:net";
import { expect, it } from "vitest";
import { HttpConnection } from "../../../src/clients/http/connection.ts";
import { HttpDialer } from "../../../src/clients/http/dial.ts";
import { requestText } from "../../../src/clients/http/request-text.ts";
import { answerOf, Client, type Heard, puppet } from "./puppet.ts";

const kept = () => process.getActiveResourcesInfo().filter((kind) => kind === "TCPSocketWrap").length;

it("only a request that waits keeps the process alive", async () => {
  const held: Heard[] = [];
  const server = await puppet((heard) => void held.push(heard));
  const { pool, text } = asking(server.port);
  const answer = (index: number) => void held[index]?.socket.write(answerOf("ok"));
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

/** A name whose first address nobody answers at. */
class TwoAddresses extends HttpDialer {
  override dial(): Socket {
    const addresses = [
      { address: "::1", family: 6 },
      { address: "127.0.0.1", family: 4 },
    ];
    return connect({
      host: "two.test",
      port: this.place.port,
      autoSelectFamily: true,
      lookup: (_host, _options, found) => found(null, addresses),
    });
  }
}

it("a connection that was let go does not keep the process alive, by whichever address it came about", async () => {
  const server = await puppet(() => {});
  const place = { isSecure: false, host: "two.test", port: server.port, skipsVerification: false };
  const before = kept();
  const dialer = new TwoAddresses(place, { ca: undefined, cert: undefined, key: undefined });
  const connection = new HttpConnection(dialer, 10_000, { free: () => {}, gone: () => {} });
  connection.letGo();
  connection.ask(requestText("GET", "/", "", undefined), {
    head: () => {},
    part: () => {},
    whole: () => {},
    failed: () => {},
  });
  await server.hasHeard(1);
  for (const socket of server.sockets) socket.unref();
  expect(kept()).toBe(before);
  connection.end(new Error("over"));
  await server.stop();
});
