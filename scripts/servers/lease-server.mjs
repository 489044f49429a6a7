// @ts-check
// The part of a Kubernetes API server that elections need, for tests on a machine without a cluster: Leases, namespaces, versions and watches, with the rules of the real
// one (lease-shelf.mjs), over HTTP or HTTPS, with bearer tokens, client certificates and rights. A fault that a real cluster shows becomes a rule here.
//
//   node lease-server.mjs '{"port":12345,"file":"leases.jsonl"}'
//
// Faults are ordered on demand, at /control: refusals, requests that are lost before or after they were applied, watches that go silent, forgotten history.
import { readFileSync } from "node:fs";
import { createServer as createPlainServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { fileURLToPath } from "node:url";
import { LeaseShelf, REQUEST_BYTES, StatusError } from "./lease-shelf.mjs";
import { discovered, tableOf, wantsTable } from "./lease-views.mjs";

/**
 * @typedef {object} Settings
 * @property {number} port
 * @property {string} file where the objects are kept
 * @property {{ cert: string, key: string, ca?: string }} [tls] files; with `ca` a client may show a certificate
 * @property {Record<string, string>} [tokens] bearer token → user. If there are tokens or certificates, everybody is asked who they are
 * @property {Record<string, readonly string[]>} [rights] user → what that user may do, as "get leases" or "get namespaces"; a user who is not named may do everything
 * @property {number} [bookmarkMs] how often a watch is told how far it has come
 * @property {string} [version]
 *
 * @typedef {object} Fault
 * @property {string} [method]
 * @property {string} [path] a part of it
 * @property {boolean} [watch] only watches, or none
 * @property {number} [status]
 * @property {string} [retryAfter] in seconds
 * @property {string} [body] in place of a Status
 * @property {"before" | "after"} [lose] the connection is cut, before or after the request was applied
 * @property {"before" | "after"} [hang] no answer comes
 * @property {number} [times] how often; 1 if not said
 *
 * @typedef {import("node:http").IncomingMessage} Request
 * @typedef {import("node:http").ServerResponse} Response
 */

const LEASES = /^\/apis\/coordination\.k8s\.io\/v1\/namespaces\/([^/]+)\/leases(?:\/([^/]+))?$/;
const NAMESPACE = /^\/api\/v1\/namespaces\/([^/]+)$/;

class LeaseServer {
  #shelf;
  #settings;
  /** @type {Fault[]} */ #faults = [];
  #isSilent = false;
  /** @type {Map<string, number>} */ #counts = new Map();
  /** @type {Set<Response>} */ #watches = new Set();

  /** @param {Settings} settings */
  constructor(settings) {
    this.#settings = settings;
    this.#shelf = new LeaseShelf(settings.file);
  }

  listen() {
    const { port, tls } = this.#settings;
    const answer = (/** @type {Request} */ request, /** @type {Response} */ response) =>
      void this.#answer(request, response).catch((error) => response.destroy(error));
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

  /** @param {Request} request @param {Response} response */
  async #answer(request, response) {
    const url = new URL(request.url ?? "/", "http://server");
    const body = await readBody(request);
    if (url.pathname === "/control") return send(response, 200, this.#control(request.method, body));
    const verb = verbOf(request, url);
    this.#counts.set(verb, (this.#counts.get(verb) ?? 0) + 1);
    const fault = this.#faultFor(request, url, verb === "watch");
    if (fault?.lose === "before") return response.destroy();
    if (fault?.hang === "before") return undefined;
    if (fault?.status !== undefined) return sendFault(response, fault);
    try {
      const answered = this.#carryOut(request, response, url, verb, body);
      if (fault?.lose === "after") return response.destroy();
      if (fault?.hang === "after" || answered === undefined) return undefined;
      return send(response, answered.code, answered.object);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      return send(response, error.code, error.status);
    }
  }

  /** @param {Request} request @param {Response} response @param {URL} url @param {string} verb @param {string} body */
  #carryOut(request, response, url, verb, body) {
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
    this.#mustBeAllowed(user, verb, "leases", namespace);
    const asked = name === undefined ? undefined : decodeURIComponent(name);
    const answered = this.#ofLeases(response, url, verb, namespace, asked, body);
    return wantsTable(request.headers.accept) && answered !== undefined ? this.#asTable(answered) : answered;
  }

  /** @param {{ code: number, object: any }} answered */
  #asTable({ code, object }) {
    const leases = object.kind === "LeaseList" ? object.items : object.kind === "Status" ? undefined : [object];
    return { code, object: leases === undefined ? object : tableOf(leases, `${this.#shelf.version}`) };
  }

  /** @param {Response} response @param {URL} url @param {string} verb @param {string} namespace @param {string | undefined} name @param {string} body */
  #ofLeases(response, url, verb, namespace, name, body) {
    const shelf = this.#shelf;
    const json = readJson(body);
    if (name === undefined) {
      if (verb === "watch") return this.#watch(response, url, namespace);
      if (verb === "create") return { code: 201, object: shelf.create(namespace, json) };
      const wanted = shelf.list(namespace).filter((lease) => isWanted(url, lease));
      const items = wanted.map(({ metadata, spec }) => ({ metadata, spec })); // of what kind they are is said once
      const metadata = { resourceVersion: `${shelf.version}` };
      return { code: 200, object: { kind: "LeaseList", apiVersion: "coordination.k8s.io/v1", metadata, items } };
    }
    if (verb === "get") return { code: 200, object: shelf.get(namespace, name) };
    if (verb === "update") return { code: 200, object: shelf.update(namespace, name, json) };
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
    const asked = Number(url.searchParams.get("resourceVersion") ?? "0");
    response.writeHead(200, { "content-type": "application/json", "transfer-encoding": "chunked" });
    response.flushHeaders();
    const tell = (/** @type {unknown} */ event) =>
      void (this.#isSilent || response.write(`${JSON.stringify(event)}\n`));
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
    this.#watches.add(response);
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
      this.#watches.delete(response);
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

  /** @param {string} user @param {string} verb @param {string} resource @param {string} namespace */
  #mustBeAllowed(user, verb, resource, namespace) {
    const rights = this.#settings.rights?.[user];
    if (rights === undefined || rights.includes(`${verb} ${resource}`)) return;
    const group = resource === "leases" ? "coordination.k8s.io" : "";
    const message = `${resource}${group === "" ? "" : `.${group}`} is forbidden: User "${user}" cannot ${verb} resource "${resource}" in API group "${group}" in the namespace "${namespace}"`;
    throw new StatusError(403, "Forbidden", message);
  }

  /** @param {Request} request @param {URL} url @param {boolean} isWatch @returns {Fault | undefined} */
  #faultFor(request, url, isWatch) {
    const index = this.#faults.findIndex(
      ({ method, path, watch }) =>
        (method === undefined || method === request.method) &&
        (path === undefined || url.pathname.includes(path)) &&
        (watch === undefined || watch === isWatch),
    );
    const fault = this.#faults[index];
    if (fault === undefined) return undefined;
    fault.times = (fault.times ?? 1) - 1;
    if (fault.times <= 0) this.#faults.splice(index, 1);
    return fault;
  }

  /** @param {string | undefined} method @param {string} body */
  #control(method, body) {
    if (method === "POST") this.#obey(JSON.parse(body));
    return { counts: Object.fromEntries(this.#counts), watches: this.#watches.size, version: this.#shelf.version };
  }

  /** @param {{ faults?: Fault[], silent?: boolean, forget?: boolean, cut?: boolean, settings?: Partial<Settings> }} order */
  #obey({ faults, silent, forget, cut, settings }) {
    if (faults !== undefined) this.#faults = faults;
    if (silent !== undefined) this.#isSilent = silent;
    if (forget === true) this.#shelf.forget();
    if (cut === true) for (const watch of this.#watches) watch.destroy();
    Object.assign(this.#settings, settings ?? {});
  }
}

/** @param {Request} request @param {URL} url */
function verbOf(request, url) {
  const [, , name] = LEASES.exec(url.pathname) ?? [];
  if (request.method === "GET" && url.searchParams.get("watch") !== null) return "watch";
  if (request.method === "GET") return name === undefined && url.pathname.endsWith("/leases") ? "list" : "get";
  return { POST: "create", PUT: "update", DELETE: "delete", PATCH: "patch" }[request.method ?? ""] ?? "other";
}

/** @param {URL} url @param {import("./lease-shelf.mjs").Lease} lease */
function isWanted(url, { metadata }) {
  const [, name] = /^metadata\.name=(.+)$/.exec(url.searchParams.get("fieldSelector") ?? "") ?? [];
  const [, key = "", value] = /^([^=]+)=(.*)$/.exec(url.searchParams.get("labelSelector") ?? "") ?? [];
  return (name === undefined || name === metadata.name) && (value === undefined || metadata.labels?.[key] === value);
}

/** @param {Request} request @returns {Promise<string>} */
async function readBody(request) {
  let text = "";
  request.setEncoding("utf8");
  for await (const part of request) {
    text += part;
    if (text.length > REQUEST_BYTES) throw new Error("the body is too large");
  }
  return text;
}

/** A real one also reads protobuf, and says the same of what it cannot read. @param {string} body */
function readJson(body) {
  try {
    return body === "" ? {} : JSON.parse(body);
  } catch {
    const message = "the body of the request was in an unknown format - accepted media types include: application/json";
    throw new StatusError(415, "UnsupportedMediaType", message);
  }
}

/** @param {Response} response @param {number} code @param {unknown} object */
function send(response, code, object) {
  response.writeHead(code, { "content-type": "application/json" }).end(`${JSON.stringify(object)}\n`);
}

/** @param {Response} response @param {Fault} fault */
function sendFault(response, { status = 500, retryAfter, body }) {
  const { status: said } = new StatusError(status, REASONS[status] ?? "InternalError", `ordered by a test: ${status}`);
  response.writeHead(status, {
    "content-type": body === undefined ? "application/json" : "text/plain",
    ...(retryAfter === undefined ? {} : { "retry-after": retryAfter }),
  });
  response.end(body ?? JSON.stringify(said));
}

/** @type {Readonly<Record<number, string>>} */
const REASONS = {
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  410: "Expired",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};

if (process.argv[1] === fileURLToPath(import.meta.url)) new LeaseServer(JSON.parse(process.argv[2] ?? "{}")).listen();
