// The plugin, in a real server.
import { createCandidate, type Term } from "conclave";
import { conclave } from "conclave/fastify";
import { memory } from "conclave/stores/memory";
import createServer from "fastify";
import { describe, expect, it } from "vitest";

describe("the plugin of Fastify", () => {
  it("decorates the whole server, and leads until it closes", async () => {
    const store = memory();
    const server = createServer();
    await server.register(conclave, { store, id: "web" });
    let led: Term | undefined;
    const work = server.conclave.election("poller").lead(async (term) => {
      led = term;
      await term.ended;
    });
    server.get("/leading", () => ({ leading: led?.isLeading() === true }));
    await server.ready();
    await expect.poll(() => led?.isLeading()).toBe(true);
    expect((await server.inject("/leading")).json()).toEqual({ leading: true });
    await server.close();
    await work;
    expect(led?.isHeld()).toBe(false);
    const next = createCandidate({ store });
    expect(await next.election("poller").tryCampaign()).toBeDefined();
    await next.close();
  });

  it("has resigned before the server stops listening", async () => {
    const server = createServer({ return503OnClosing: false });
    await server.register(conclave, { store: memory() });
    const seen: string[] = [];
    const work = server.conclave.election("x").lead(async (term) => {
      await term.ended;
      // The server still listens while the work of the term ends.
      const { status } = await fetch(`http://127.0.0.1:${port()}/`);
      seen.push(`answered ${status}`);
    });
    const port = (): number => (server.server.address() as { readonly port: number }).port;
    server.get("/", () => "ok");
    server.addHook("onClose", async () => void seen.push("closed"));
    await server.listen({ port: 0, host: "127.0.0.1" });
    await expect.poll(() => server.conclave.election("x").leader()).toBeDefined();
    await server.close();
    await work;
    expect(seen).toEqual(["answered 200", "closed"]);
  });

  it("hands every setting of a candidate on", async () => {
    const register = async () => await createServer().register(conclave, { store: memory(), keeper: { quietMs: 1 } });
    await expect(register()).rejects.toThrow("keeper: memory is inside this process");
  });

  it("opens a store by its URL, and logs by the server's logger", async () => {
    const lines: string[] = [];
    const stream = { write: (line: string) => void lines.push(line) };
    const server = createServer({ logger: { stream, level: "info" } });
    await server.register(conclave, { store: "memory:fastify" });
    await server.conclave.election("x").lead(async () => {});
    await server.close();
    expect(lines.some((line) => line.includes(`elected election=\\"x\\"`))).toBe(true);
  });

  it("refuses options that createCandidate refuses", async () => {
    const server = createServer();
    await expect(server.register(conclave, { store: memory(), ttlMs: -1 })).rejects.toThrow(/ttlMs/);
  });
});
