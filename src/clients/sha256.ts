// SHA-256 of a text. node:crypto takes 3 ms to load, so it is loaded with the first digest and not with the driver.
import type { Hash, hash as HashAtOnce } from "node:crypto";

export function sha256(text: string): Hash {
  return process.getBuiltinModule("node:crypto").createHash("sha256").update(text);
}

let hashAtOnce: typeof HashAtOnce | undefined;

/** The same in hexadecimal digits. It takes a tenth of the time, because no object is made for it. */
export function sha256Hex(text: string): string {
  hashAtOnce ??= process.getBuiltinModule("node:crypto").hash;
  return hashAtOnce("sha256", text, "hex");
}
