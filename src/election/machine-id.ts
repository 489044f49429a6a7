// The id of the machine that this process runs on. It tells apart two machines that were given the same name. It is not a secret and not a proof. It is hashed, because the
// documentation of the file says that its content should not be shown.
import { readFileSync } from "node:fs";
import { hostname, networkInterfaces } from "node:os";

const FILES = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

/** For a system without such a file, the id is made of its host name and hardware addresses. */
export function machineId(): string {
  const found = FILES.map(contentOf).find((id) => id !== "");
  const { createHash } = process.getBuiltinModule("node:crypto"); // loaded at first use, as in fresh-beat.ts
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
