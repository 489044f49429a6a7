// Which store a command uses, said aloud on stderr at every start: `--store`, else CONCLAVE_STORE, else a file in the user's state directory. How far it
// reaches is said with it, because two processes with different stores both lead.
//
// No password is ever shown: of a URL with a server only the scheme and what follows the last `@` are, without its query.
import { existsSync } from "node:fs";
import { fileOf, withoutPassword } from "../base/url.ts";
import { createCandidate, isConclaveError, openStore, type Store } from "../index.ts";
import { UsageError } from "./command.ts";
import { inFlags } from "./flags.ts";

const DEFAULT = "sqlite:";

const REACHES: Readonly<Record<Store["guarantee"]["scope"], string>> = {
  process: "this process only",
  host: "this host only",
  network: "every host that reaches it",
};

export const STORE_HELP = `  --store URL   where candidates meet (else CONCLAVE_STORE, else sqlite: in your state directory)`;

/** Opens it, and tells on stderr which it is. */
export async function chooseStore(flag: string | undefined): Promise<Store> {
  const fromEnvironment = process.env["CONCLAVE_STORE"] ?? "";
  const url = flag ?? (fromEnvironment === "" ? DEFAULT : fromEnvironment);
  const store = await open(url, flag === undefined && fromEnvironment !== "" ? "CONCLAVE_STORE" : "--store");
  sayStore(store, url);
  return store;
}

async function open(url: string, from: string): Promise<Store> {
  try {
    return await openStore(url);
  } catch (error) {
    if (isConclaveError(error) && error.code === "CONFIG_INVALID")
      throw new UsageError(`${from}: ${inFlags(error.message)}`);
    throw error;
  }
}

const USUAL_TTL_MS = 15_000;

/** For a candidate that only looks and never stands: its ttl is never used, and must be one that the store would grant. */
export function onlyLooking(store: Store): { readonly store: Store; readonly unfenced: true; readonly ttlMs: number } {
  const { minMs, maxMs } = store.guarantee.ttl;
  return { store, unfenced: true, ttlMs: Math.max(minMs, Math.min(USUAL_TTL_MS, maxMs)) };
}

/** The start line, and a warning where the store reaches less far than its users are likely to think. */
export function sayStore(store: Store, url: string): void {
  const { scope } = store.guarantee;
  const own: unknown = "url" in store ? store.url : undefined;
  process.stderr.write(`store ${withoutPassword(typeof own === "string" ? own : url)} — ${REACHES[scope]}\n`);
  if (scope !== "network" && process.env["KUBERNETES_SERVICE_HOST"] !== undefined)
    process.stderr.write(
      `conclave: warning: inside Kubernetes every pod has its own file: each elects itself. Use a store that all pods reach.\n`,
    );
}

/** The file of a `sqlite:` store that does not exist yet: nobody has led there, and to ask need not make it. */
export function missingFile(store: Store): string | undefined {
  const url: unknown = "url" in store ? store.url : undefined;
  if (typeof url !== "string" || !url.startsWith("sqlite:") || store.guarantee.scope !== "host") return undefined;
  const file = fileOf(url);
  return existsSync(file) ? undefined : file;
}

/** Throws CONFIG_INVALID for a ttl that this store cannot grant. For commands whose candidates are processes of their own: it is said before one of them is started. */
export async function refuseTtl(store: Store, ttlMs: number): Promise<void> {
  await createCandidate({ store, ttlMs, unfenced: true }).close();
}
