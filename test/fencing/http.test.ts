// Fenced HTTP: the fetch style by itself, the node:http style over real sockets.
import { createServer, request as httpRequest, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { fencedHandler, fencedListener, fencingHeaders, memoryFence } from "conclave/fencing";
import { by, turn } from "./tokens.ts";

const ask = (value?: number, path = "/"): Request =>
  new Request(`http://ledger${path}`, { headers: value === undefined ? {} : fencingHeaders(by(value)) });
const bodyOf = async (response: Response): Promise<{ code: string; message: string }> =>
  (await response.json()) as { code: string; message: string };

/** A handler whose requests end when told, by their path. */
function slow(): {
  readonly handler: (request: Request) => Promise<Response>;
  readonly end: (path: string) => void;
  readonly begun: string[];
} {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const handler = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    begun.push(pathname);
    await new Promise<void>((resolve) => ends.set(pathname, resolve));
    return new Response("done");
  };
  return { handler, end: (path) => ends.get(path)?.(), begun };
}

describe("fencedHandler", () => {
  it("admits the newest token, and hands it to the handler", async () => {
    const serve = fencedHandler(memoryFence(), "ledger", (_, { token }) => new Response(`${token.value}`));
    expect(await (await serve(ask(2))).text()).toBe("2");
    expect(await (await serve(ask(2))).text()).toBe("2");
  });

  it("answers 412 to an older token, and to one of another domain", async () => {
    const serve = fencedHandler(memoryFence(), "ledger", () => new Response());
    await serve(ask(2));
    const stale = await serve(ask(1));
    expect(stale.status).toBe(412);
    expect(stale.headers.get("content-type")).toBe("application/json");
    expect(await bodyOf(stale)).toEqual({ code: "TOKEN_STALE", message: expect.stringContaining("has seen token 2") });
    const foreign = await serve(new Request("http://x", { headers: fencingHeaders(by(9, "b", "etcd-2")) }));
    expect([foreign.status, (await bodyOf(foreign)).code]).toEqual([412, "TOKEN_FOREIGN"]);
  });

  it("answers 428 without a token, and 400 to what is no token", async () => {
    const serve = fencedHandler(memoryFence(), "ledger", () => new Response());
    expect((await serve(ask())).status).toBe(428);
    const twice = new Headers([["fencing-token", "d:1:b"], ["fencing-token", "d:1:b"]]); // prettier-ignore
    for (const headers of [{ "fencing-token": "41" }, { "fencing-token": "d:01:b" }, twice])
      expect((await serve(new Request("http://x", { headers }))).status).toBe(400);
  });

  it("begins a newer request only when older ones have ended, and refuses older ones meanwhile", async () => {
    const { handler, end, begun } = slow();
    const serve = fencedHandler(memoryFence(), "ledger", handler);
    const old = serve(ask(1, "/old"));
    await turn();
    const newer = serve(ask(2, "/new"));
    expect((await serve(ask(1, "/late"))).status).toBe(412);
    await turn();
    expect(begun).toEqual(["/old"]);
    end("/old");
    expect((await old).status).toBe(200);
    await expect.poll(() => begun).toEqual(["/old", "/new"]);
    end("/new");
    expect((await newer).status).toBe(200);
  });

  it("answers 503 with retry-after when older ones do not end in time, and never lets both in", async () => {
    const { handler, end, begun } = slow();
    const serve = fencedHandler(memoryFence(), "ledger", handler, { waitMs: 30 });
    const old = serve(ask(1, "/old"));
    await turn();
    const busy = await serve(ask(2, "/new"));
    expect([busy.status, busy.headers.get("retry-after")]).toEqual([503, "1"]);
    expect((await bodyOf(busy)).code).toBe("FENCE_BUSY");
    end("/old");
    await old;
    expect(begun).toEqual(["/old"]);
    expect((await serve(ask(1))).status).toBe(412);
  });

  it("takes no number of milliseconds that is none", () => {
    const invalid = expect.objectContaining({ code: "CONFIG_INVALID" });
    const waitMs = Number.NaN;
    expect(() => fencedHandler(memoryFence(), "ledger", slow().handler, { waitMs })).toThrow(invalid);
    expect(() => fencedListener(memoryFence(), "ledger", async () => {}, { waitMs })).toThrow(invalid);
  });

  it("counts a request whose client has gone until its handler has ended", async () => {
    const { handler, end, begun } = slow();
    const serve = fencedHandler(memoryFence(), "ledger", handler, { waitMs: 30 });
    const client = new AbortController();
    const old = serve(new Request("http://x/old", { headers: fencingHeaders(by(1)), signal: client.signal }));
    await turn();
    client.abort();
    expect((await serve(ask(2, "/new"))).status).toBe(503);
    end("/old");
    await old;
    void serve(ask(2, "/new"));
    await expect.poll(() => begun).toEqual(["/old", "/new"]);
    end("/new");
  });

  it("keeps resources apart, by name or by a function of the request", async () => {
    const serve = fencedHandler(
      memoryFence(),
      (request) => new URL(request.url).pathname,
      () => new Response(),
    );
    expect((await serve(ask(2, "/a"))).status).toBe(200);
    expect((await serve(ask(1, "/b"))).status).toBe(200);
    expect((await serve(ask(1, "/a"))).status).toBe(412);
  });

  it("throws on what the handler throws, even a refusal of another guard, and counts it as ended", async () => {
    const inner = memoryFence();
    await inner.raise("inner", by(9));
    const serve = fencedHandler(memoryFence(), "ledger", async () => {
      await inner.raise("inner", by(1));
      return new Response();
    });
    await expect(serve(ask(1))).rejects.toMatchObject({ code: "TOKEN_STALE", resource: "inner" });
    await expect(serve(ask(2))).rejects.toMatchObject({ code: "TOKEN_STALE", resource: "inner" });
  });
});

describe("fencedListener", () => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      server.close();
    }
  });

  async function serve(listener: Parameters<typeof createServer>[1]): Promise<string> {
    const server = createServer(listener as () => void);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
  const send = (url: string, value?: number): Promise<Response> =>
    fetch(url, { headers: value === undefined ? {} : fencingHeaders(by(value)) });

  it("answers as fencedHandler does", async () => {
    const listener = fencedListener(
      memoryFence(),
      "ledger",
      async (_, response, { token }) => void response.end(`${token.value}`),
    );
    const url = await serve(listener);
    expect((await send(url)).status).toBe(428);
    expect(await (await send(url, 2)).text()).toBe("2");
    const stale = await send(url, 1);
    expect([stale.status, (await bodyOf(stale)).code]).toEqual([412, "TOKEN_STALE"]);
    expect((await fetch(url, { headers: { "fencing-token": "x" } })).status).toBe(400);
  });

  it("counts a request as in progress after its client has disconnected, until its work has ended", async () => {
    let end = (): void => {};
    const begun: bigint[] = [];
    const listener = fencedListener(
      memoryFence(),
      "ledger",
      async (_, response, { token }) => {
        begun.push(token.value);
        if (token.value === 1n) await new Promise<void>((resolve) => (end = resolve));
        response.end();
      },
      { waitMs: 100 },
    );
    const url = await serve(listener);
    const gone = httpRequest(url, { headers: fencingHeaders(by(1)) }).on("error", () => {});
    gone.end();
    await expect.poll(() => begun).toEqual([1n]);
    gone.destroy();
    expect((await send(url, 2)).status).toBe(503);
    end();
    expect((await send(url, 2)).status).toBe(200);
    expect(begun).toEqual([1n, 2n]);
  });

  it("answers 500 and reports when the work fails, and goes on", async () => {
    const reported: unknown[] = [];
    const fails = async (): Promise<void> => {
      throw new Error("mine");
    };
    const url = await serve(
      fencedListener(memoryFence(), "ledger", fails, { onError: (error) => reported.push(error) }),
    );
    expect((await send(url, 1)).status).toBe(500);
    expect((await send(url, 2)).status).toBe(500);
    expect(reported).toEqual([new Error("mine"), new Error("mine")]);
  });

  it("answers 500 to a listener without a promise, and lets nothing newer in beside it", async () => {
    const warned: unknown[] = [];
    const hear = (warning: unknown): void => void warned.push(warning);
    process.on("warning", hear);
    const url = await serve(fencedListener(memoryFence(), "ledger", (() => {}) as never, { waitMs: 30 }));
    expect((await send(url, 1)).status).toBe(500);
    expect((await send(url, 2)).status).toBe(503);
    await expect.poll(() => warned).toEqual([expect.objectContaining({ code: "CONFIG_INVALID" })]);
    process.off("warning", hear);
  });
});

describe("fencingHeaders", () => {
  it("writes the token in its one form", () => {
    expect(fencingHeaders(by(41, "web-1_8f", "etcd"))).toEqual({ "fencing-token": "etcd:41:web-1_8f" });
  });
});
