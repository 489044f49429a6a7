// @ts-check
// Faults of an API server, ordered on demand at /control: refusals, requests that are lost before or after they were applied, watches that go silent. Both servers for tests have
// them: the one of this folder (lease-server.mjs), and a real one behind a relay (api-front.mjs).
import { StatusError } from "./lease-shelf.mjs";

/**
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
 * @typedef {{ faults?: Fault[], silent?: boolean, forget?: boolean, cut?: boolean, settings?: Record<string, unknown> }} Order
 * @typedef {{ request: Request, response: Response, url: URL, verb: string, body: string }} Asked
 * @typedef {{ code: number, object?: unknown, text?: string }} Answered `text`: as it is sent, in place of an object
 * @typedef {import("node:http").IncomingMessage} Request
 * @typedef {import("node:http").ServerResponse} Response
 */

const REQUEST_BYTES = 4 * 1024 * 1024;
const LEASES = /\/leases(?:\/([^/]+))?$/;

export class Faults {
  /** @type {Fault[]} */ #faults = [];
  /** Watches hear nothing. */
  isSilent = false;
  /** @type {Map<string, number>} */ #counts = new Map();
  /** The watches that are open. @type {Set<Response>} */
  watches = new Set();

  /**
   * @param {Request} request @param {Response} response
   * @param {object} uses
   * @param {(asked: Asked) => Promise<Answered | undefined>} uses.carryOut undefined: it answers by itself
   * @param {(order: Order | undefined) => Promise<{ version: number }>} uses.control what only this server can do of an order
   */
  async answer(request, response, { carryOut, control }) {
    const url = new URL(request.url ?? "/", "http://server");
    const body = await readBody(request);
    if (url.pathname === "/control") {
      const order = request.method === "POST" ? /** @type {Order} */ (JSON.parse(body)) : undefined;
      if (order !== undefined) this.#obey(order);
      const counts = Object.fromEntries(this.#counts);
      return send(response, 200, { counts, watches: this.watches.size, ...(await control(order)) });
    }
    const verb = verbOf(request, url);
    this.#counts.set(verb, (this.#counts.get(verb) ?? 0) + 1);
    const fault = this.#faultFor(request, url, verb === "watch");
    if (fault?.lose === "before") return response.destroy();
    if (fault?.hang === "before") return undefined;
    if (fault?.status !== undefined) return sendFault(response, fault);
    try {
      const answered = await carryOut({ request, response, url, verb, body });
      if (fault?.lose === "after") return response.destroy();
      if (fault?.hang === "after" || answered === undefined) return undefined;
      return send(response, answered.code, answered.object, answered.text);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      return send(response, error.code, error.status);
    }
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

  /** @param {Order} order */
  #obey({ faults, silent, cut }) {
    if (faults !== undefined) this.#faults = faults;
    if (silent !== undefined) this.isSilent = silent;
    if (cut === true) for (const watch of this.watches) watch.destroy();
  }
}

/** @param {Request} request @param {URL} url */
function verbOf(request, url) {
  const [, name] = LEASES.exec(url.pathname) ?? [];
  if (request.method === "GET" && url.searchParams.get("watch") !== null) return "watch";
  if (request.method === "GET") return name === undefined && url.pathname.endsWith("/leases") ? "list" : "get";
  return { POST: "create", PUT: "update", DELETE: "delete", PATCH: "patch" }[request.method ?? ""] ?? "other";
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

/** @param {Response} response @param {number} code @param {unknown} object @param {string} [text] */
function send(response, code, object, text = `${JSON.stringify(object)}\n`) {
  response.writeHead(code, { "content-type": "application/json" }).end(text);
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
