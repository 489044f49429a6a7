// Connections with TLS: whom they trust, by which name, and that nothing is sent to a server that has not proven who it is.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { PeerCertificate, TLSSocket, TlsOptions } from "node:tls";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { HttpPlace, HttpTrust } from "../../../src/clients/http/dial.ts";
import { makeCertificates } from "../../stores/etcd/certificates.ts";
import { answerOf, Client, type Heard, puppet, type Puppet } from "./puppet.ts";

let folder = "";
let files: Readonly<Record<"ca" | "cert" | "key" | "clientCert" | "clientKey" | "otherCa", string>>;
let server: Puppet;
const names: (string | false | null)[] = [];
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "conclave-dial-"));
  const made = makeCertificates(folder);
  files = Object.fromEntries(
    Object.entries(made).map(([name, file]) => [name, readFileSync(String(file), "utf8")]),
  ) as typeof files;
  server = await puppet(tell, { ...asked(), cert: files.cert, key: files.key });
}, 60_000);
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const asked = (): TlsOptions => ({
  ca: files.ca,
  requestCert: true,
  rejectUnauthorized: false,
  ALPNProtocols: ["h2", "http/1.1"],
});

/** Answers with what the server knows of the connection. */
function tell({ socket }: Heard): void {
  const secure = socket as TLSSocket;
  const { servername } = secure as TLSSocket & { readonly servername?: string | false };
  names.push(servername ?? null);
  const { subject } = secure.getPeerCertificate() as Partial<PeerCertificate>;
  const user = secure.authorized && subject !== undefined ? String(subject.CN) : "nobody";
  secure.write(answerOf(`${user} ${secure.alpnProtocol} ${secure.isSessionReused() ? "again" : "new"}`));
}

async function told(place: Partial<HttpPlace>, trust: Partial<HttpTrust>, at = server): Promise<string> {
  const client = new Client(
    at.port,
    {},
    { isSecure: true, ...place },
    { ca: undefined, cert: undefined, key: undefined, ...trust },
  );
  try {
    return (await client.ask()).text;
  } catch (error) {
    const { problem, cause } = error as { readonly problem: string; readonly cause?: { readonly code?: string } };
    return `${problem} ${cause?.code}`;
  } finally {
    client.pool.close();
  }
}

it("a server whose certificate is signed by the trusted authority is asked, in HTTP/1.1", async () => {
  expect(await told({}, { ca: files.ca })).toBe("nobody http/1.1 new");
  expect(await told({}, { ca: files.ca, cert: files.clientCert, key: files.clientKey })).toBe("client http/1.1 new");
});

it("any other server is not asked", async () => {
  const before = server.heard.length;
  expect(await told({}, {})).toMatch(/^unconnected (?:UNABLE|SELF_SIGNED|DEPTH_ZERO)/);
  expect(await told({}, { ca: files.otherCa })).toMatch(/^unconnected (?:UNABLE|SELF_SIGNED|DEPTH_ZERO)/);
  expect(await told({ servername: "other.test" }, { ca: files.ca })).toBe("unconnected ERR_TLS_CERT_ALTNAME_INVALID");
  expect(await told({ host: "localhost" }, { ca: files.ca })).toBe("unconnected ERR_TLS_CERT_ALTNAME_INVALID");
  expect(server.heard).toHaveLength(before);
});

it("a server is asked by a name, and never by an address", async () => {
  names.length = 0;
  await told({ servername: "etcd.test" }, { ca: files.ca });
  await told({}, { ca: files.ca });
  await told({ host: "localhost", skipsVerification: true }, {});
  expect(names).toEqual(["etcd.test", false, "localhost"]);
});

it("a server that is not to be verified is asked, whatever it shows", async () => {
  expect(await told({ skipsVerification: true }, {})).toBe("nobody http/1.1 new");
  expect(await told({ skipsVerification: true }, { ca: files.otherCa })).toBe("nobody http/1.1 new");
});

it("a server that speaks no TLS, or ends the handshake, is unconnected", async () => {
  const plain = await puppet(({ socket }) => void socket.write(answerOf("plain")));
  for (const socket of plain.sockets) socket.destroy();
  const strict = await puppet(tell, {
    ...asked(),
    cert: files.cert,
    key: files.key,
    rejectUnauthorized: true,
    maxVersion: "TLSv1.2",
  });
  try {
    expect(await told({}, { ca: files.ca }, strict)).toMatch(/^unconnected (?:ERR_SSL|ECONNRESET)/);
    const asking = told({}, {}, plain);
    while (plain.sockets[0] === undefined) await new Promise(setImmediate);
    plain.sockets[0].end("HTTP/1.0 400 Bad Request\r\n\r\n");
    expect(await asking).toMatch(/^unconnected ERR_SSL/);
  } finally {
    await Promise.all([plain.stop(), strict.stop()]);
  }
});

it("a certificate or key of ours that cannot be read is unconnected, for each request", async () => {
  expect(await told({}, { ca: files.ca, cert: "none", key: files.clientKey })).toMatch(/^unconnected ERR_OSSL/);
  expect(await told({}, { ca: files.ca, cert: files.clientCert, key: files.key })).toMatch(/^unconnected ERR_OSSL/);
});

it("the second connection to a server takes the session of the first", async () => {
  const client = new Client(server.port, {}, { isSecure: true }, { ca: files.ca, cert: undefined, key: undefined });
  expect(await client.text()).toContain("new");
  expect(await Promise.all([client.text(), client.text()])).toEqual(["nobody http/1.1 new", "nobody http/1.1 again"]);
  client.pool.close();
});
