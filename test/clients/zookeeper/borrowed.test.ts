// What is read from a client of node-zookeeper-client, and what is refused: by the installed client, and by objects that are almost one.
import { createClient } from "node-zookeeper-client";
import { describe, expect, it } from "vitest";
import { isConclaveError } from "conclave";
import { zookeeper } from "conclave/stores/zookeeper";
import { urlOfClient } from "../../../src/clients/zookeeper/borrowed.ts";

const SECRET = "geheim";

function withUsers(connection: string, ...users: readonly (readonly [string, Buffer | string])[]) {
  const client = createClient(connection);
  for (const [scheme, auth] of users) client.addAuthInfo(scheme, Buffer.from(auth));
  return client;
}

function refusalOf(client: unknown): string {
  try {
    zookeeper(client as never);
  } catch (error) {
    if (!isConclaveError(error)) throw error;
    expect(error.message).not.toContain(SECRET);
    return `${error.code}: ${error.message}`;
  }
  return "it was accepted";
}

describe("the URL of a client", () => {
  it.each([
    ["h1", "zookeeper://h1:2181"],
    ["h1:2182/", "zookeeper://h1:2182"],
    ["h1:2181/app/locks", "zookeeper://h1:2181/app/locks"],
    ["h1:2181/a b?c=d#e%", "zookeeper://h1:2181/a%20b%3Fc%3Dd%23e%25"],
  ])("has the server and the chroot of %s", (connection, url) => {
    expect(urlOfClient(createClient(connection))).toBe(url);
    expect(zookeeper(createClient(connection)).url).toBe(url);
  });

  it("has all servers, in one order, although the client shuffles them", () => {
    const urls = Array.from({ length: 20 }, () => zookeeper(createClient("h3:1,h1:3,,h2:2/app")).url);
    expect(new Set(urls)).toEqual(new Set(["zookeeper://h1:3,h2:2,h3:1/app"]));
  });

  it("has the user of addAuthInfo, whatever signs the password has, and whoever adds it twice", () => {
    const user = ["digest", `anna:${SECRET}@/:?#%ü`] as const;
    const url = "zookeeper://anna:geheim%40%2F%3A%3F%23%25%C3%BC@h1:2181/app";
    expect(zookeeper(withUsers("h1/app", user)).url).toBe(url);
    expect(zookeeper(withUsers("h1/app", user, user)).url).toBe(url);
    expect(zookeeper(withUsers("h1", ["digest", "anna:"])).url).toBe("zookeeper://anna:@h1:2181");
  });

  it("has the options too, so that another thread or process opens the same store", () => {
    expect(zookeeper(createClient("h1/app"), { tickMs: 500, layout: "kazoo" }).url).toBe(
      "zookeeper://h1:2181/app?tickMs=500&layout=kazoo",
    );
  });

  it("is not printed with the store", () => {
    const store = zookeeper(withUsers("h1", ["digest", `anna:${SECRET}`]));
    expect(store.url).toContain(SECRET);
    expect(Object.keys(store)).not.toContain("url");
  });
});

describe("a client is refused", () => {
  it.each([
    [
      "several users",
      [
        ["digest", `anna:${SECRET}`],
        ["digest", `bert:${SECRET}`],
      ],
      "for several users",
    ],
    ["another scheme", [["sasl", SECRET]], "another scheme than digest"],
    [
      "another scheme beside a user",
      [
        ["digest", `anna:${SECRET}`],
        ["ip", ""],
      ],
      "another scheme than digest",
    ],
    ["a user without a colon", [["digest", SECRET]], "was not called with user:password"],
    ["a user without a name", [["digest", `:${SECRET}`]], "was not called with user:password"],
    ["bytes that are no text", [["digest", Buffer.from([0x61, 0x3a, 0xff])]], "in UTF-8"],
    ["NUL in a password", [["digest", `anna:${SECRET}\0`]], "NUL"],
  ] as const)("that has %s", (_what, users, said) => {
    expect(refusalOf(withUsers("h1", ...users))).toMatch(/^CONFIG_INVALID: zookeeper: /);
    expect(refusalOf(withUsers("h1", ...users))).toContain(said);
  });

  it.each(["h1:port", "h1:0", "h1:70000", "h1, h2", "[::1]:2181", `anna:${SECRET}@h1:2181`, `${SECRET}@h1`])(
    "whose connection string a URL cannot say, or nobody can reach: %s",
    (connection) => {
      expect(refusalOf(createClient(connection))).toMatch(/^CONFIG_INVALID: .*(?:is not host:port)/);
    },
  );

  it("that does not show its user: that of the package zookeeper", () => {
    const native = { config: { connect: `h1:2181` }, add_auth: () => {}, a_create: () => {} };
    expect(refusalOf(native)).toMatch(
      /the package zookeeper does not show which user.*pass the URL.*zookeeper:\/\/user:password@host:2181\/CHROOT/,
    );
  });

  const SERVERS = [{ host: "h1", port: 2181 }];
  it.each([
    ["an empty object", {}],
    ["a list of clients", [createClient("h1")]],
    ["a promise of one", Promise.resolve(createClient("h1"))],
    ["one without its settings", { addAuthInfo: () => {}, connectionManager: null }],
    ["no server", { connectionManager: { servers: [], credentials: [] } }],
    ["servers that are texts", { connectionManager: { servers: ["h1:2181"], credentials: [] } }],
    ["a server without a port", { connectionManager: { servers: [{ host: "h1" }], credentials: [] } }],
    ["no list of users", { connectionManager: { servers: SERVERS } }],
    ["a user that is a text", { connectionManager: { servers: SERVERS, credentials: [`anna:${SECRET}`] } }],
    ["a user as text", { connectionManager: { servers: SERVERS, credentials: [{ scheme: "digest", auth: SECRET }] } }],
    ["a chroot that is no text", { connectionManager: { servers: SERVERS, credentials: [], chrootPath: 7 } }],
    ["a chroot that is null", { connectionManager: { servers: SERVERS, credentials: [], chrootPath: null } }],
    ["a chroot without a /", { connectionManager: { servers: SERVERS, credentials: [], chrootPath: "app" } }],
  ])("that is none: %s", (_what, object) => {
    expect(refusalOf(object)).toMatch(
      /is no client of node-zookeeper-client.*pass what its createClient returns, or pass the URL/,
    );
  });

  it.each([
    ["/\ud800", /the chroot of the client is no text/],
    ["/a/../b", /the chroot is a path/],
    ["/a//b", /the chroot is a path/],
  ])("whose chroot is no path: %j", (chrootPath, said) => {
    expect(refusalOf({ connectionManager: { servers: SERVERS, credentials: [], chrootPath } })).toMatch(said);
  });
});

describe("options beside a client", () => {
  it("are those beside a URL, and what is missing is named for a client too", () => {
    const zk = createClient("h1");
    expect(() => zookeeper(zk, { acl: "creator" })).toThrow(/acl creator needs a user: .*call addAuthInfo/);
    expect(() => zookeeper(withUsers("h1", ["digest", "a:b"]), { acl: "creator" })).not.toThrow();
    expect(() => zookeeper(zk, { unfenced: true } as never)).toThrow(
      /unfenced is not an option: it belongs to the cand/,
    );
    expect(() => zookeeper(zk, { ticks: 1 } as never)).toThrow(
      /ticks is not an option: tickMs, shape, layout, acl are/,
    );
    expect(() => zookeeper(zk, "tickMs=1" as never)).toThrow(/the options are a string/);
  });
});
