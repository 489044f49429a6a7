// SHA-256 of a text. node:crypto takes 3 ms to load, so it is loaded with the first digest and not with the driver.
import type { Hash } from "node:crypto";

export function sha256(text: string): Hash {
  return process.getBuiltinModule("node:crypto").createHash("sha256").update(text);
}
