// For the type checker of this repository only: as much of Express as the example uses.
declare module "express" {
  import type { IncomingMessage, Server, ServerResponse } from "node:http";

  interface Response extends ServerResponse {
    type(type: string): Response;
    send(body: string): Response;
    json(body: unknown): Response;
  }
  interface App {
    use(handler: (request: IncomingMessage, response: ServerResponse, next: () => void) => unknown): void;
    get(path: string, handler: (request: IncomingMessage, response: Response) => unknown): void;
    listen(port: number, host: string, listening: () => void): Server;
  }
  export default function express(): App;
}
