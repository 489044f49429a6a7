// @ts-check
// A relay before a real API server, for tests: it passes every request on as the administrator, and adds the faults that tests order at /control (api-faults.mjs).
//
//   node api-front.mjs '{"port":12345,"server":"https://127.0.0.1:12346","token":"…","etcd":"http://127.0.0.1:12347"}'
import { createServer } from "node:http";
import { Agent, request as askSecurely } from "node:https";
import { fileURLToPath } from "node:url";
import { Faults } from "./api-faults.mjs";

/**
 * @typedef {{ port: number, server: string, token: string, etcd: string }} Settings
 * @typedef {import("./api-faults.mjs").Asked} Asked
 */

class ApiFront {
  #settings;
  #faults = new Faults();
  #agent = new Agent({ keepAlive: true, maxSockets: 2000, rejectUnauthorized: false }); // a certificate of its own making, on loopback

  /** @param {Settings} settings */
  constructor(settings) {
    this.#settings = settings;
  }

  listen() {
    const uses = {
      carryOut: (/** @type {Asked} */ asked) => this.#passOn(asked),
      control: (/** @type {import("./api-faults.mjs").Order | undefined} */ order) => this.#control(order),
    };
    const server = createServer(
      (request, response) =>
        void this.#faults.answer(request, response, uses).catch((error) => response.destroy(error)),
    );
    server.keepAliveTimeout = 60_000;
    server.listen(this.#settings.port, "127.0.0.1");
  }

  /** Rejects if the server goes away before it has answered: then the asker gets no answer either. @param {Asked} asked @returns {Promise<import("./api-faults.mjs").Answered | undefined>} */
  #passOn({ request, response, url, verb, body }) {
    const { server, token } = this.#settings;
    const { host: _, connection: __, ...given } = request.headers;
    const headers = { authorization: `Bearer ${token}`, ...given };
    return new Promise((resolve, reject) => {
      const options = { method: request.method ?? "GET", headers, agent: this.#agent };
      const sent = askSecurely(`${server}${url.pathname}${url.search}`, options, (answer) => {
        if (verb === "watch" && answer.statusCode === 200) return resolve(this.#relayWatch(answer, response));
        let text = "";
        answer.setEncoding("utf8").on("data", (part) => (text += part));
        answer.on("end", () => resolve({ code: answer.statusCode ?? 500, text }));
        answer.on("error", reject);
        return undefined;
      });
      response.on("close", () => sent.destroy());
      sent.on("error", reject);
      sent.end(body);
    });
  }

  /** @param {import("node:http").IncomingMessage} answer @param {import("node:http").ServerResponse} response */
  #relayWatch(answer, response) {
    response.writeHead(200, { "content-type": "application/json", "transfer-encoding": "chunked" });
    response.flushHeaders();
    this.#faults.watches.add(response);
    response.on("close", () => this.#faults.watches.delete(response));
    answer.on("data", (part) => void (this.#faults.isSilent || response.write(part)));
    answer.on("end", () => response.end());
    answer.on("error", () => response.destroy());
    return undefined;
  }

  /** `forget`: etcd forgets the history, as it does every five minutes by itself. @param {import("./api-faults.mjs").Order | undefined} order */
  async #control(order) {
    const { header } = await this.#askEtcd("range", { key: Buffer.of(0).toString("base64") });
    const version = Number(header.revision);
    if (order?.forget === true) await this.#askEtcd("compaction", { revision: `${version}`, physical: true });
    return { version };
  }

  /** @param {string} path @param {object} body @returns {Promise<{ header: { revision: string } }>} */
  async #askEtcd(path, body) {
    const answer = await fetch(`${this.#settings.etcd}/v3/kv/${path}`, { method: "POST", body: JSON.stringify(body) });
    return /** @type {{ header: { revision: string } }} */ (await answer.json());
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) new ApiFront(JSON.parse(process.argv[2] ?? "{}")).listen();
