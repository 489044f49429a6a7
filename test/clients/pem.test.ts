// Files of TLS that cannot work are told when the store is made, by the setting that names them, and not again and again as a server that cannot be reached.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { etcd } from "conclave/stores/etcd";
import { zookeeper } from "conclave/stores/zookeeper";
import { privateFolder } from "../../scripts/servers/process.mjs";
import { makeCertificates } from "../stores/etcd/certificates.ts";

const own = privateFolder("pem");
afterAll(() => own.remove());
const files = makeCertificates(own.folder);
const file = (name: string, text: string): string => {
  writeFileSync(path.join(own.folder, name), text);
  return path.join(own.folder, name);
};
const empty = file("empty.pem", "");
const json = file("json.pem", "{}");
const encrypted = path.join(own.folder, "encrypted.key");
spawnSync("openssl", ["pkey", "-aes256", "-passout", "pass:x", "-in", files.clientKey, "-out", encrypted]);

const STORES: Readonly<Record<string, (query: Readonly<Record<string, string>>) => unknown>> = {
  zookeeper: (query) => zookeeper(`zookeepers://h1?${new URLSearchParams(query).toString()}`),
  etcd: (query) => etcd(`etcds://h1?${new URLSearchParams(query).toString()}`),
};

describe.each(Object.entries(STORES))("%s", (_store, open) => {
  it("takes files that fit", () => {
    open({ ca: files.ca });
    open({ ca: files.ca, cert: files.clientCert, key: files.clientKey });
  });

  it.each([
    ["an empty authority", { ca: empty }, /ca is a file without a certificate in PEM/],
    ["an authority that is no PEM", { ca: json }, /ca is a file without a certificate in PEM/],
    ["a key as the authority", { ca: files.clientKey }, /ca is a file without a certificate in PEM/],
    ["the key of another certificate", { cert: files.clientCert, key: files.key }, /key does not belong to the cert/],
    [
      "certificate and key the other way round",
      { cert: files.clientKey, key: files.clientCert },
      /cert is a file with/,
    ],
    ["a certificate twice", { cert: files.clientCert, key: files.clientCert }, /cert and .*key cannot be used/],
    ["an encrypted key", { cert: files.clientCert, key: encrypted }, /key is encrypted.*openssl pkey -in/],
    ["a key that is no PEM", { cert: files.clientCert, key: json }, /cert and .*key cannot be used/],
  ])("refuses %s", (_what, query, said) => {
    expect(() => open(query)).toThrow(said);
  });
});
