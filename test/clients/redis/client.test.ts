// A port of a URL says that a request was not sent only where that is certain, and sends none twice: with each client, against a server of our own that breaks off at a chosen moment.
import { createServer, type Server as NetServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { UrlPort } from "../../../src/clients/redis/client.ts";
import { outcomeOf } from "../../../src/clients/redis/errors.ts";
import { bySha, NotSent, scriptOf } from "../../../src/clients/redis/port.ts";

const where = { place: "db.example:6379", grant: "ACL" };
const script = scriptOf("return 1");

let server: NetServer | undefined;
const sockets = new Set<Socket>();
const ports: UrlPort[] = [];
afterEach(async () => {
  await Promise.all(ports.splice(0).map((port) => port.close()));
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
  server = undefined;
});

/** Answers every command with OK, but what `answer` says to the scripts: text to send back, or undefined to break off. Returns the port, and the scripts that came. */
async function fake(
  answer: (command: string) => string | undefined,
): Promise<{ readonly port: number; readonly came: readonly string[] }> {
  const came: string[] = [];
  server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("data", (data) => {
      for (const command of data.toString().split(/(?=^\*\d+\r\n\$)/m)) {
        const name = /^\*\d+\r\n\$\d+\r\n(\w+)/.exec(command)?.[1]?.toUpperCase() ?? "";
        if (!name.startsWith("EVAL")) {
          socket.write("+OK\r\n");
          continue;
        }
        came.push(name);
        const said = answer(name);
        if (said === undefined) socket.destroy();
        else socket.write(said);
      }
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  return { port: (server.address() as AddressInfo).port, came };
}

function opened(port: number, client: "own" | "ioredis" | "redis"): UrlPort {
  const made = new UrlPort({ host: "127.0.0.1", port, database: 0 }, client);
  ports.push(made);
  return made;
}

/** The error; or what it did in place of failing. */
const failure = (asked: Promise<unknown>): Promise<unknown> => {
  const answered = asked.then(
    () => "answered",
    (error: unknown) => error,
  );
  return Promise.race([answered, new Promise((resolve) => setTimeout(resolve, 5000, "hangs"))]);
};

describe.each(["own", "ioredis", "redis"] as const)("%s", (client) => {
  it("a connection that breaks before the answer is an unknown outcome, and the request is not sent again", async () => {
    const { port, came } = await fake(() => undefined);
    const error = await failure(opened(port, client).run(script, ["k"], []));
    expect(error).not.toBeInstanceOf(NotSent);
    expect(outcomeOf(error, where).kind).toBe("unknown");
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(came).toEqual(["EVALSHA"]);
  });

  it("one that breaks after the script was sent with its text is unknown, too", async () => {
    const { port, came } = await fake((name) => (name === "EVALSHA" ? "-NOSCRIPT No matching script\r\n" : undefined));
    const error = await failure(opened(port, client).run(script, ["k"], []));
    expect(outcomeOf(error, where).kind).toBe("unknown");
    expect(came).toEqual(["EVALSHA", "EVAL"]);
  });

  it("a connection that could not be made is refused", async () => {
    const error = await failure(opened(1, client).run(script, ["k"], []));
    expect(error).toBeInstanceOf(NotSent);
    expect(outcomeOf(error, where)).toMatchObject({ kind: "refused", code: "STORE_UNREACHABLE", retryable: true });
  });

  it("connects anew for the next request", async () => {
    let isWell = false;
    const { port } = await fake(() => (isWell ? ":7\r\n" : undefined));
    const one = opened(port, client);
    expect(outcomeOf(await failure(one.run(script, ["k"], [])), where).kind).toBe("unknown");
    isWell = true;
    expect(await one.run(script, ["k"], [])).toBe(7);
  });
});

it("a script is sent with its text only if the server says that it does not know it, and not if the script itself says so", async () => {
  const texts: string[] = [];
  const run = (message: string): Promise<unknown> =>
    bySha({
      sha: () => Promise.reject(new Error(message)),
      text: () => Promise.resolve(texts.push(message)),
    });
  await run("NOSCRIPT No matching script");
  await expect(run("ERR in script: NOSCRIPT No matching script")).rejects.toThrow("in script");
  await expect(run("READONLY")).rejects.toThrow("READONLY");
  expect(texts).toEqual(["NOSCRIPT No matching script"]);
});
