// The parts of a Client of pg that our own connections (connections.ts) use although pg does not document them for everybody. A later version of pg may lack one of them; then the store takes pg's Pool
// instead of failing, or of waiting for an answer that never comes.
//
//   query of a Submittable   pg hands it back as it is, and calls its methods. Cursors rely on the same
//   connection.query         sends one text by the simple protocol
//   connection.stream        the socket: cut off when the server is silent, and unref'd while it is idle
//
// `processID` is used too, and may be missing: then nothing is prepared.

interface Parts {
  query(request: object): unknown;
  readonly connection?: { readonly query?: unknown; readonly stream?: Readonly<Record<string, unknown>> };
}

/** Returns the name of the missing part as pg has it, for a message; undefined if all parts are there. The client is never connected. */
export function missingPart(Client: new (options: object) => unknown): string | undefined {
  const client = new Client({}) as Parts;
  if (typeof client.connection?.query !== "function") return "Client.connection.query";
  for (const name of ["destroy", "ref", "unref"])
    if (typeof client.connection.stream?.[name] !== "function") return `Client.connection.stream.${name}`;
  return takesRequests(client) ? undefined : "Client.query of a Submittable";
}

/** The request waits in the client until the client is connected, which it never is. */
function takesRequests(client: Parts): boolean {
  const request = { submit: () => {}, handleError: () => {}, callback: () => {} };
  try {
    const taken = client.query(request);
    if (taken instanceof Promise) taken.catch(() => {}); // pg took it for the settings of an ordinary query
    return taken === request;
  } catch {
    return false;
  }
}
