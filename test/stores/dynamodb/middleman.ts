// Stands between a client and dynalite, and notes what is asked. A test tells it to answer something itself, to lose a request, or to lose the answer to one that was applied.
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { urlOf } from "../../../scripts/servers/dynamodb.mjs";

export interface Asked {
  /** "UpdateItem" */
  readonly verb: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** Of the item, where there is one. */
  readonly key: string;
}

/** undefined: pass it on. lost: it never arrives. unanswered: it is applied, and its answer is lost. Otherwise: an error of the service. */
export type Treatment =
  | "lost"
  | "unanswered"
  | { readonly status: number; readonly type: string; readonly message?: string }
  | { readonly answer: object }
  | undefined;

export class Middleman {
  readonly asked: Asked[] = [];
  treat: (asked: Asked) => Treatment | Promise<Treatment> = () => undefined;
  readonly #server: Server;
  readonly #target: string;

  private constructor(target: string) {
    this.#target = target;
    this.#server = createServer((request, response) => {
      void this.#handle(request).then(
        (answer) => {
          if (answer === undefined) response.destroy();
          else response.writeHead(answer.status, { "content-type": "application/x-amz-json-1.0" }).end(answer.text);
        },
        () => response.destroy(),
      );
    });
  }

  static async before(target: string): Promise<Middleman> {
    const middleman = new Middleman(target);
    await new Promise<void>((resolve) => middleman.#server.listen(0, "127.0.0.1", resolve));
    return middleman;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  url(table = "conclave"): string {
    return urlOf(this.endpoint, table);
  }

  /** The verbs of what was asked since the last time. */
  verbs(): string[] {
    return this.asked.splice(0).map(({ verb }) => verb);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(request: IncomingMessage): Promise<{ readonly status: number; readonly text: string } | undefined> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const body = JSON.parse(text) as Asked["body"];
    const verb = String(request.headers["x-amz-target"]).split(".")[1] ?? "";
    const asked = { verb, body, key: (body["Key"] as { key?: { S?: string } } | undefined)?.key?.S ?? "" };
    this.asked.push(asked);
    const treatment = await this.treat(asked);
    if (treatment === "lost") return undefined;
    if (typeof treatment === "object" && "answer" in treatment)
      return { status: 200, text: JSON.stringify(treatment.answer) };
    if (typeof treatment === "object") {
      const { status, type, message = type } = treatment;
      return { status, text: JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${type}`, message }) };
    }
    const headers = Object.fromEntries(
      Object.entries(request.headers).filter(([name]) => name !== "host" && name !== "connection"),
    ) as Record<string, string>;
    const passed = await fetch(this.#target, { method: "POST", headers, body: text });
    const answer = { status: passed.status, text: await passed.text() };
    return treatment === "unanswered" ? undefined : answer;
  }
}
