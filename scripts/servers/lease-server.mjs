// @ts-check
// The part of a Kubernetes API server that elections need, for tests on a machine without a cluster: Leases, namespaces, versions and watches, with the rules of the real
// one (lease-shelf.mjs), over HTTP or HTTPS, with bearer tokens, client certificates and rights. A fault that a real cluster shows becomes a rule here.
//
//   node lease-server.mjs '{"port":12345,"file":"leases.jsonl"}'
//
// Faults are ordered on demand, at /control (api-faults.mjs); with `forget` the history of changes is forgotten.
import { readFileSync } from "node:fs";
import { createServer as createPlainServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { fileURLToPath } from "node:url";
import { Faults } from "./api-faults.mjs";
import { LeaseShelf, StatusError } from "./lease-shelf.mjs";
import { discovered, tableOf, wantsTable } from "./lease-views.mjs";

/**
 * @typedef {object} Settings
 * @property {number} port
 * @property {string} file where the objects are kept
 * @property {readonly string[]} [namespaces] that are there
 * @property {{ cert: string, key: string, ca?: string }} [tls] files; with `ca` a client may show a certificate
 * @property {Record<string, string>} [tokens] bearer token → user. If there are tokens or certificates, everybody is asked who they are
 * @property {Record<string, readonly string[]>} [rights] user → what that user may do, as "get leases", "get namespaces", or "get leases job" for the Lease of one name; a user who is not named may do everything
 * @property {number} [bookmarkMs] how often a watch is told how far it has come
 * @property {string} [version]
 *
 * @typedef {import("node:http").IncomingMessage} Request
 * @typedef {import("node:http").ServerResponse} Response
 * @typedef {import("./api-faults.mjs").Asked} Asked
 * @typedef {import("./api-faults.mjs").Order} Order
 */

const LEASES = /^\/apis\/coordination\.k8s\.io\/v1\/namespaces\/([^/]+)\/leases(?:\/([^/]+))?$/;
const REQUEST_BYTES = 3 * 1024 * 1024;
const NAMESPACE = /^\/api\/v1\/namespaces\/([^/]+)$/;

class LeaseServer {
  #shelf;
  #settings;
  #faults = new Faults();

  /** @param {Settings} settings */
  constructor(settings) {
    this.#settings = settings;
    this.#shelf = new LeaseShelf(settings.file, settings.namespaces ?? []);
  }

  listen() {
    const { port, tls } = this.#settings;
    const uses = {
      carryOut: async (/** @type {Asked} */ asked) => this.#carryOut(asked),
      control: async (/** @type {Order | undefined} */ order) => this.#control(order),
    };
    const answer = (/** @type {Request} */ request, /** @type {Response} */ response) =>
      void this.#faults.answer(request, response, uses).catch((error) => response.destroy(error));
    const server =
      tls === undefined
        ? createPlainServer(answer)
        : createSecureServer(
            {
              cert: readFileSync(tls.cert),
              key: readFileSync(tls.key),
              ...(tls.ca === undefined
                ? {}
                : { ca: readFileSync(tls.ca), requestCert: true, rejectUnauthorized: false }),
            },
            answer,
          );
    server.keepAliveTimeout = 60_000;
    server.listen(port, "127.0.0.1");
  }

  /** @param {Asked} asked */
  #carryOut({ request, response, url, verb, body }) {
    if (url.pathname === "/version") {
      const gitVersion = this.#settings.version ?? "v1.35.0";
      const [, major = "", minor = ""] = /^v(\d+)\.(\d+)/.exec(gitVersion) ?? [];
      return { code: 200, object: { major, minor, gitVersion, platform: "conclave/lease-server" } };
    }
    const user = this.#userOf(request);
    const view = request.method === "GET" ? discovered(url.pathname) : undefined;
    if (view !== undefined) return { code: 200, object: view };
    const [, ofNamespace] = NAMESPACE.exec(url.pathname) ?? [];
    if (ofNamespace !== undefined && request.method === "GET") {
      this.#mustBeAllowed(user, "get", "namespaces", ofNamespace);
      return { code: 200, object: this.#shelf.namespace(decodeURIComponent(ofNamespace)) };
    }
    const [, namespace, name] = LEASES.exec(url.pathname) ?? [];
    if (namespace === undefined)
      throw new StatusError(404, "NotFound", "the server could not find the requested resource");
    const asked = name === undefined ? undefined : decodeURIComponent(name);
    this.#mustBeAllowed(user, verb, "leases", namespace, asked ?? nameIn(url));
    const answered = this.#ofLeases(request, response, url, verb, namespace, asked, body);
    return wantsTable(request.headers.accept) && answered !== undefined ? this.#asTable(answered) : answered;
  }

  /** @param {{ code: number, object: any }} answered */
  #asTable({ code, object }) {
    const leases = object.kind === "LeaseList" ? object.items : object.kind === "Status" ? undefined : [object];
    return { code, object: leases === undefined ? object : tableOf(leases, `${this.#shelf.version}`) };
  }

  /** @param {Request} request @param {Response} response @param {URL} url @param {string} verb @param {string} namespace @param {string | undefined} name @param {string} body */
  #ofLeases(request, response, url, verb, namespace, name, body) {
    const shelf = this.#shelf;
    const json = readJson(request, body);
    if (name === undefined) {
      if (verb === "watch") return this.#watch(response, url, namespace);
      if (verb === "create") return { code: 201, object: shelf.create(namespace, json, managerOf(request)) };
      const wanted = shelf.list(namespace).filter((lease) => isWanted(url, lease));
      const items = wanted.map(({ metadata, spec }) => ({ metadata, spec })); // of what kind they are is said once
      const metadata = { resourceVersion: `${shelf.version}` };
      return { code: 200, object: { kind: "LeaseList", apiVersion: "coordination.k8s.io/v1", metadata, items } };
    }
    if (verb === "get") return { code: 200, object: shelf.get(namespace, name) };
    if (verb === "update") {
      const isNew = !shelf.has(namespace, name);
      return { code: isNew ? 201 : 200, object: shelf.update(namespace, name, json, managerOf(request)) };
    }
    if (verb === "delete") {
      const { metadata } = shelf.delete(namespace, name, json);
      return {
        code: 200,
        object: { kind: "Status", apiVersion: "v1", status: "Success", details: { name, uid: metadata.uid } },
      };
    }
    throw new StatusError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
  }

  /** A version that is forgotten is told as the API server tells it: an event in a stream that began well. @param {Response} response @param {URL} url @param {string} namespace */
  #watch(response, url, namespace) {
    const from = url.searchParams.get("resourceVersion") ?? "0";
    const asked = Number(from);
    if (!/^\d*$/.test(from))
      throw new StatusError(500, undefined, `resourceVersion: Invalid value: "${from}": invalid syntax`);
    response.writeHead(200, { "content-type": "application/json", "transfer-encoding": "chunked" });
    response.flushHeaders();
    const tell = (/** @type {unknown} */ event) =>
      void (this.#faults.isSilent || response.write(`${JSON.stringify(event)}\n`));
    const hear = (/** @type {import("./lease-shelf.mjs").Change} */ change) => {
      if (change.object.metadata.namespace === namespace && isWanted(url, change.object)) tell(change);
    };
    try {
      if (asked > 0) for (const change of this.#shelf.since(asked)) hear(change);
      else for (const object of this.#shelf.list(namespace)) hear({ type: "ADDED", object });
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      tell({ type: "ERROR", object: error.status });
      response.end();
      return undefined;
    }
    this.#faults.watches.add(response);
    const stop = this.#shelf.listen(hear);
    const bookmarks = setInterval(() => {
      const metadata = { resourceVersion: `${this.#shelf.version}`, creationTimestamp: null };
      tell({ type: "BOOKMARK", object: { kind: "Lease", apiVersion: "coordination.k8s.io/v1", metadata, spec: {} } });
    }, this.#settings.bookmarkMs ?? 60_000);
    const seconds = Number(url.searchParams.get("timeoutSeconds") ?? "1800");
    const over = setTimeout(() => response.end(), seconds * 1000);
    response.on("close", () => {
      stop();
      clearInterval(bookmarks);
      clearTimeout(over);
      this.#faults.watches.delete(response);
    });
    return undefined;
  }

  /** @param {Request} request @returns {string} */
  #userOf(request) {
    const { tokens, tls } = this.#settings;
    const [, token] = /^Bearer (.+)$/.exec(request.headers.authorization ?? "") ?? [];
    const user = token === undefined ? undefined : tokens?.[token];
    if (user !== undefined) return user;
    const socket = /** @type {import("node:tls").TLSSocket} */ (request.socket);
    if (token === undefined && tls?.ca !== undefined && socket.authorized) {
      const { CN } = socket.getPeerCertificate().subject;
      return String(CN);
    }
    if (tokens === undefined && tls?.ca === undefined) return "anybody";
    throw new StatusError(401, "Unauthorized", "Unauthorized");
  }

  /** As RBAC does: a list or a watch with a name in its field selector is one of that name. @param {string} user @param {string} verb @param {string} resource @param {string} namespace @param {string} [name] */
  #mustBeAllowed(user, verb, resource, namespace, name) {
    const rights = this.#settings.rights?.[user];
    if (rights === undefined || rights.includes(`${verb} ${resource}`)) return;
    if (rights.includes(`${verb} ${resource} ${name}`)) return;
    const group = resource === "leases" ? "coordination.k8s.io" : "";
    const message = `${resource}${group === "" ? "" : `.${group}`} is forbidden: User "${user}" cannot ${verb} resource "${resource}" in API group "${group}" in the namespace "${namespace}"`;
    throw new StatusError(403, "Forbidden", message);
  }

  /** @param {Order | undefined} order */
  #control({ forget, settings } = {}) {
    if (forget === true) this.#shelf.forget();
    Object.assign(this.#settings, settings ?? {});
    return { version: this.#shelf.version };
  }
}

/** @param {URL} url */
function nameIn(url) {
  return /^metadata\.name=(.+)$/.exec(url.searchParams.get("fieldSelector") ?? "")?.[1];
}

/** As the API server names those who write. @param {Request} request */
function managerOf(request) {
  return (request.headers["user-agent"] ?? "unknown").split("/")[0] ?? "";
}

/** @param {URL} url @param {import("./lease-shelf.mjs").Lease} lease */
function isWanted(url, { metadata }) {
  const name = nameIn(url);
  const [, key = "", value] = /^([^=]+)=(.*)$/.exec(url.searchParams.get("labelSelector") ?? "") ?? [];
  return (name === undefined || name === metadata.name) && (value === undefined || metadata.labels?.[key] === value);
}

/** A real one also reads YAML and protobuf. @param {Request} request @param {string} body */
function readJson(request, body) {
  if (body === "") return {};
  const type = request.headers["content-type"] ?? "application/json";
  if (!type.startsWith("application/json")) {
    const message = "the body of the request was in an unknown format - accepted media types include: application/json";
    throw new StatusError(415, "UnsupportedMediaType", message);
  }
  if (Buffer.byteLength(body) > REQUEST_BYTES)
    throw new StatusError(413, "RequestEntityTooLarge", `Request entity too large: limit is ${REQUEST_BYTES}`);
  try {
    return JSON.parse(body);
  } catch {
    const message = "the object provided is unrecognized (must be of type Lease): couldn't get version/kind";
    throw new StatusError(400, "BadRequest", message);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) new LeaseServer(JSON.parse(process.argv[2] ?? "{}")).listen();
