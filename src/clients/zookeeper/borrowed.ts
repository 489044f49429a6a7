// The settings of a client of `node-zookeeper-client` that a program has already: its servers, its chroot and its user, as the URL of the same place. They are read once. Nothing is sent over the
// client's connection, nothing of it is changed, and nobody keeps the client: it may be connected, not yet connected, or closed.
//
// SAFETY: at most one candidate leads with such a client, because what is opened is what the URL opens: a session and connections of our own, whose answers say over which connection they came, and
// which only our requests keep alive. What the argument rests on is that both name one place. So the servers and the chroot are those that the client itself goes by, and whatever cannot be
// read, or cannot be said in a URL, is refused. A default in its place could be another ensemble or another node, with a leader of its own.
import { invalidConfig } from "../../base/errors.ts";
import { show } from "../../base/show.ts";
import { flawOf } from "../../base/text.ts";

/**
 * A client that `createClient` of `node-zookeeper-client` has made. Only its settings are read. They stand in a field that its types do not declare; whether they are there is checked when the
 * client is passed.
 */
export interface NodeZooKeeperClient {
  addAuthInfo(scheme: string, auth: Buffer): void;
  readonly connectionManager?: unknown;
}

type Read = Readonly<Record<string, unknown>>;

const STORE = "zookeeper";
const PASS_A_URL = "pass the URL of the same ensemble, zookeeper://user:password@host:2181/CHROOT";
const UNKNOWN = `the object that was passed is no client of node-zookeeper-client from which servers, chroot and user can be read: pass what its createClient returns, or ${PASS_A_URL}`;
const KEPT_SECRET = `a client of the package zookeeper does not show which user was added to it (add_auth): ${PASS_A_URL}`;

/** The URL of the place that the client goes to, with its user and password. Throws `CONFIG_INVALID`. No message repeats a password. */
export function urlOfClient(client: object): string {
  if (typeof (client as Read)["add_auth"] === "function") throw invalidConfig(STORE, [KEPT_SECRET]);
  const { servers, chrootPath, credentials } = asRead((client as Read)["connectionManager"]);
  if (!Array.isArray(servers) || servers.length === 0 || !Array.isArray(credentials)) throw unknownClient();
  // The client shuffles its servers. One order for all makes the URLs of two candidates of one process equal.
  const hosts = servers.map(hostOf).toSorted();
  return `${STORE}://${userOf(credentials)}${hosts.join(",")}${pathOf(chrootPath)}`;
}

function asRead(value: unknown): Read {
  if (typeof value !== "object" || value === null) throw unknownClient();
  return value as Read;
}

function unknownClient(): Error {
  return invalidConfig(STORE, [UNKNOWN]);
}

/** As host:port. The client splits its connection string at commas and colons, so it has no address of IPv6. */
function hostOf(server: unknown): string {
  const { host, port } = asRead(server);
  if (typeof host !== "string" || (typeof port !== "string" && typeof port !== "number")) throw unknownClient();
  if (!/^[^\s,:@/?#[\]]+$/.test(host) || !/^[0-9]{1,5}$/.test(`${port}`))
    throw invalidConfig(STORE, [`a server of the client, ${show(host.replace(/.*@/s, "…@"))}, is not host:port`]);
  return `${host}:${port}`;
}

/** "" or /app/locks. */
function pathOf(chrootPath: unknown): string {
  if (chrootPath === undefined) return "";
  if (typeof chrootPath !== "string" || !chrootPath.startsWith("/")) throw unknownClient();
  const flaw = flawOf(chrootPath);
  if (flaw !== undefined) throw invalidConfig(STORE, [`the chroot of the client is no text: ${flaw}`]);
  return chrootPath.split("/").map(encodeURIComponent).join("/");
}

/** "" or user:password@. One who was added twice is one user. */
function userOf(credentials: readonly unknown[]): string {
  const [user, ...others] = new Set(credentials.map(digestOf));
  if (others.length > 0)
    throw invalidConfig(STORE, [
      "addAuthInfo of the client was called for several users, and a store has one: pass a client with only that one, or the URL with it",
    ]);
  return user === undefined ? "" : `${user}@`;
}

function digestOf(credential: unknown): string {
  const { scheme, auth } = asRead(credential);
  if (!(auth instanceof Uint8Array)) throw unknownClient();
  if (scheme !== "digest")
    throw invalidConfig(STORE, [
      "addAuthInfo of the client was called with another scheme than digest, which is the only one that a store can use",
    ]);
  const [, name, password] = /^([^:]+):(.*)$/s.exec(textOf(auth)) ?? [];
  if (name === undefined || password === undefined)
    throw invalidConfig(STORE, [
      'addAuthInfo("digest", …) of the client was not called with user:password in UTF-8, as in Buffer.from("user:password")',
    ]);
  return `${encodeURIComponent(name)}:${encodeURIComponent(password)}`;
}

/** "" if the bytes are no UTF-8: another password than the client's would be sent. */
function textOf(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString("utf8");
  return Buffer.from(text, "utf8").equals(bytes) ? text : "";
}
