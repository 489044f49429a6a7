// An authority, a certificate for 127.0.0.1 signed by it, one for clients, and an authority that nobody knows; made by openssl in a folder of the test.
import { spawnSync } from "node:child_process";
import path from "node:path";

export interface Certificates {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  readonly clientCert: string;
  readonly clientKey: string;
  readonly otherCa: string;
}

export function makeCertificates(folder: string): Certificates {
  const at = (name: string): string => path.join(folder, name);
  for (const name of ["ca", "other"])
    openssl(
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:P-256",
      "-nodes",
      "-days",
      "30",
      "-subj",
      `/CN=${name}`,
      "-keyout",
      at(`${name}.key`),
      "-out",
      at(`${name}.pem`),
    );
  sign(at, "server", "subjectAltName=IP:127.0.0.1,DNS:etcd.test");
  sign(at, "client", "extendedKeyUsage=clientAuth");
  return {
    ca: at("ca.pem"),
    cert: at("server.pem"),
    key: at("server.key"),
    clientCert: at("client.pem"),
    clientKey: at("client.key"),
    otherCa: at("other.pem"),
  };
}

function sign(at: (name: string) => string, name: string, extension: string): void {
  openssl(
    "req",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
    "-subj",
    `/CN=${name}`,
    "-keyout",
    at(`${name}.key`),
    "-out",
    at(`${name}.csr`),
    "-addext",
    extension,
  );
  openssl(
    "x509",
    "-req",
    "-in",
    at(`${name}.csr`),
    "-CA",
    at("ca.pem"),
    "-CAkey",
    at("ca.key"),
    "-CAcreateserial",
    "-days",
    "30",
    "-copy_extensions",
    "copy",
    "-out",
    at(`${name}.pem`),
  );
}

function openssl(...args: readonly string[]): void {
  const { status, stderr } = spawnSync("openssl", args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`openssl ${args[0]} failed: ${stderr}`);
}
