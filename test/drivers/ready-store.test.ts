// A process that stands by for another loads what it will need, client included, and asks nobody.
import { createRequire } from "node:module";
import { createServer, type Server } from "node:net";
import { afterEach, expect, it } from "vitest";
import { readyStore } from "../../src/drivers/open-store.ts";

const isLoaded = (client: string): boolean =>
  Object.keys(createRequire(import.meta.url).cache).some((file) => file.includes(`/node_modules/${client}/`));

let server: Server | undefined;
afterEach(() => void server?.close());

it.each([
  ["ioredis", (port: number) => `redis://127.0.0.1:${port}?conclave_client=ioredis`],
  ["redis", (port: number) => `redis://127.0.0.1:${port}?conclave_client=redis`],
  ["@aws-sdk/client-dynamodb", (port: number) => `dynamodb://a:b@table?region=local&endpoint=http://127.0.0.1:${port}`],
])("loads %s, and connects to nothing", { timeout: 60_000 }, async (client, urlOf) => {
  let connections = 0;
  server = createServer(() => connections++);
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const url = urlOf(typeof address === "object" ? (address?.port ?? 0) : 0);
  expect(isLoaded(client)).toBe(false);
  await readyStore(url);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect([isLoaded(client), connections]).toEqual([true, 0]);
});

it("refuses what is no store", async () => {
  await expect(readyStore("nothing://here")).rejects.toMatchObject({ code: "CONFIG_INVALID" });
});
