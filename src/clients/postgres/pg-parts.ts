// What our own connections (connections.ts) use of a Client of pg beyond what it documents for everybody. A later version of pg may come without it; then the
// store takes pg's Pool instead of failing, or of waiting for an answer that never comes.
//
//   query of a Submittable   it is handed back as it is, and pg calls its methods. Cursors rely on the same
//   connection.query         sends one text by the simple protocol
//   connection.stream        the socket: cut off when the server is silent, and unref'd while it is idle
//
// `processID` is used too, and may be missing: then nothing is prepared.

interface Parts {
  query(request: object): unknown;
  readonly connection?: { readonly query?: unknown; readonly stream?: Readonly<Record<string, unknown>> };
}

/** Named as in pg, for a message; undefined if all of it is there. The client is never connected. */
export function missingPart(Client: new (options: object) => unknown): string | undefined {
  const client = new Client({}) as Parts;
  if (typeof client.connection?.query !== "function") return "Client.connection.query";
  for (const name of ["destroy", "ref", "unref"])
    if (typeof client.connection.stream?.[name] !== "function") return `Client.connection.stream.${name}`;
  return takesRequests(client) ? undefined : "Client.query of a Submittable";
}

/** Such a request waits in the client until that is connected, which it never is. */
function takesRequests(client: Parts): boolean {
  const request = { submit: () => {}, handleError: () => {}, callback: () => {} };
  try {
    const taken = client.query(request);
    if (taken instanceof Promise) taken.catch(() => {}); // it was taken for the settings of an ordinary query
    return taken === request;
  } catch {
    return false;
  }
}
