// From the review of the design: a server compared tokens when a request arrived. A request admitted with the old token was still at work when the new
// leader's first one ran; both wrote.
// Here: requests in flight are counted until their handler has ended, and one with a newer token waits for them, even if the old client is long gone.
// Taken out: test/defences/request-in-flight.patch
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { parseToken } from "conclave";
import { fencedListener, fencingHeaders, memoryFence } from "conclave/fencing";

it("request-in-flight: a request admitted with the old token ends before the first one of the new token begins", async () => {
  const story: string[] = [];
  let finish = (): void => {};
  const listener = fencedListener(memoryFence(), "ledger", async (_, response, { token }) => {
    story.push(`${token.value} begins`);
    if (token.value === 1n) await new Promise<void>((resolve) => (finish = resolve));
    story.push(`${token.value} writes`);
    response.end();
  });
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const headers = (value: number): Record<string, string> =>
    fencingHeaders({ token: parseToken(`etcd-1:${value}:b${value}`) });

  const old = request(url, { headers: headers(1) }).on("error", () => {});
  old.end();
  await expect.poll(() => story).toEqual(["1 begins"]);
  old.destroy(); // its leader is gone, its request is not
  const answer = fetch(url, { headers: headers(2) });
  await new Promise((resolve) => setTimeout(resolve, 100));
  finish();
  expect((await answer).status).toBe(200);
  expect(story).toEqual(["1 begins", "1 writes", "2 begins", "2 writes"]);
  expect((await fetch(url, { headers: headers(1) })).status).toBe(412);
  server.closeAllConnections();
  server.close();
});
