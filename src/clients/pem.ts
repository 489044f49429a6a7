// Files of TLS as a URL names them, looked at before anything is opened. Node takes a file without certificates for an authority that has signed nothing, and says at each connection, in words of OpenSSL, that
// a key does not fit. Such a mistake does not pass by itself.
import type { TlsSettings } from "./url-parts.ts";

/** What is wrong with these, as sentences that begin with the name of the setting. */
export function problemsOfPems({ ca, cert, key }: Pick<TlsSettings, "ca" | "cert" | "key">): string[] {
  const hasCertificate = (pem: string | Buffer): boolean =>
    /-----BEGIN [A-Z0-9 ]*CERTIFICATE-----/.test(pem.toString());
  const without = Object.entries({ ca, cert }).filter(([, pem]) => pem !== undefined && !hasCertificate(pem));
  if (without.length > 0)
    return without.map(([name]) => `${name} is a file without a certificate in PEM (-----BEGIN CERTIFICATE-----)`);
  if (cert === undefined || key === undefined) return [];
  if (key.toString().includes("ENCRYPTED"))
    return ["key is encrypted, and nobody is there to be asked for its password: openssl pkey -in FILE decrypts it"];
  try {
    process.getBuiltinModule("node:tls").createSecureContext({ cert, key });
    return [];
  } catch (error) {
    const { code = "" } = error as { readonly code?: string };
    return code === "ERR_OSSL_X509_KEY_VALUES_MISMATCH"
      ? ["key does not belong to the certificate in cert"]
      : [`cert and key cannot be used (${code}): are they a certificate and its private key, in PEM?`];
  }
}
