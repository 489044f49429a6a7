// The id of the machine that this process runs on: what tells two machines apart that were given one name. Not a secret and not a proof; it is hashed, because the file says that
// it should not be shown as it is.
import { readFileSync } from "node:fs";
import { hostname, networkInterfaces } from "node:os";

const FILES = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

/** Of a system without such a file: its host name and hardware addresses. */
export function machineId(): string {
  const found = FILES.map(contentOf).find((id) => id !== "");
  const { createHash } = process.getBuiltinModule("node:crypto"); // at first use, as in fresh-beat.ts
  const own = found ?? `${hostname()} ${addresses().join(" ")}`;
  return createHash("sha256").update(`conclave node ${own}`).digest("hex").slice(0, 32);
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return "";
  }
}

function addresses(): readonly string[] {
  const all = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
  return [...new Set(all.filter(({ internal }) => !internal).map(({ mac }) => mac))].toSorted();
}
