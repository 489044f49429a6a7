// Keys of signed tokens: Ed25519, as node:crypto has them. A key is known by its id, which is computed from the public key: nobody chooses it, so two keys never share one.
import { createHash, createPrivateKey, createPublicKey, KeyObject } from "node:crypto";
import { ConclaveError } from "../base/errors.ts";

/** A key of Ed25519: as `generateKeyPairSync("ed25519")` of node:crypto makes it, or as text in PEM. */
export type TokenKey = KeyObject | string;

const ID_BYTES = 16;

/** The private key that signs. Throws `CONFIG_INVALID`. */
export function signingKey(call: string, key: TokenKey): KeyObject {
  const read = readKey(call, key, createPrivateKey);
  if (read.type !== "private") throw unfit(call, `this is a ${read.type} key; to sign, the private one is needed`);
  return checked(call, read);
}

/** A public key that verifies. Throws `CONFIG_INVALID`; also for a private key, which a resource should never have. */
export function verifyingKey(call: string, key: TokenKey): KeyObject {
  if (typeof key === "string" && key.includes("PRIVATE KEY")) throw tooMuch(call);
  const read = readKey(call, key, createPublicKey);
  if (read.type === "private") throw tooMuch(call);
  if (read.type !== "public") throw unfit(call, `this is a ${read.type} key; to verify, the public one is needed`);
  return checked(call, read);
}

/** The id by which a token names its key. It is the same for a private key and its public key. */
export function keyId(key: TokenKey): string {
  const read = readKey("keyId", key, createPublicKey);
  return idOf(checked("keyId", read.type === "private" ? createPublicKey(read) : read));
}

/** The id of a public key. */
export function idOf(key: KeyObject): string {
  const bytes = key.export({ type: "spki", format: "der" });
  return createHash("sha256").update(bytes).digest().subarray(0, ID_BYTES).toString("base64url");
}

function readKey(call: string, key: TokenKey, read: (pem: string) => KeyObject): KeyObject {
  if (key instanceof KeyObject) return key;
  if (typeof key !== "string" || key === "")
    throw unfit(call, `the key is ${key === "" ? "an empty text" : typeof key}. Is the environment variable set?`);
  try {
    return read(key);
  } catch {
    // The cause is left out: it may quote the key.
    throw unfit(call, "the text is no key in PEM");
  }
}

function checked(call: string, key: KeyObject): KeyObject {
  if (key.asymmetricKeyType === "ed25519") return key;
  throw unfit(call, `the key is of ${key.asymmetricKeyType ?? "no known kind"}, not of Ed25519`);
}

function tooMuch(call: string): ConclaveError {
  return unfit(call, "this is the private key. A resource needs the public one only, and should not have the other");
}

function unfit(call: string, why: string): ConclaveError {
  const message = `${call}: ${why}. Make a pair with generateKeyPairSync("ed25519") of node:crypto, or: openssl genpkey -algorithm ed25519`;
  return new ConclaveError("CONFIG_INVALID", message);
}
