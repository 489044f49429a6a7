// What every verb of `conclave stonith` begins with: the configuration, the store, a candidate that looks and gives orders.
import { hostname, userInfo } from "node:os";
import { type Candidate, createCandidate, isConclaveError, type Store, type UnfencedTerm } from "../../index.ts";
import { type LoadedConfig, loadStonithConfig, refusalOfStore, type StoreInTests } from "../../stonith/index.ts";
import { UsageError } from "../command.ts";
import { chooseStore } from "../store.ts";

export const COMMON = {
  config: { type: "string" },
  store: { type: "string" },
  json: { type: "boolean", default: false },
} as const;

export interface StonithSetup extends LoadedConfig {
  readonly store: Store;
  readonly candidate: Candidate<UnfencedTerm>;
}

interface Wanted {
  readonly config?: string | undefined;
  readonly store?: string | undefined;
}

/** Opens what the work needs, and closes it. `devices`: they will be asked, so that everything that they need must be here. */
export async function withSetup(
  { config: file, store: storeFlag }: Wanted,
  { devices }: { readonly devices: boolean },
  work: (setup: StonithSetup) => Promise<number>,
): Promise<number> {
  if (file === undefined) throw new UsageError("--config FILE is missing: docs/STONITH-DEVICES.md shows one");
  const loaded = await load(file, devices);
  for (const warning of loaded.warnings) process.stderr.write(`conclave stonith: warning: ${warning}\n`);
  const store = await chooseStore(storeFlag ?? loaded.config.store);
  const candidate = createCandidate({ store, unfenced: true, id: "conclave-stonith", ttlMs: 5000 });
  try {
    return await work({ ...loaded, store, candidate });
  } finally {
    await candidate.close();
    await store.close();
  }
}

async function load(file: string, devices: boolean): Promise<LoadedConfig> {
  try {
    return await loadStonithConfig(file, { devices });
  } catch (error) {
    if (isConclaveError(error)) throw new UsageError(error.message);
    throw error;
  }
}

/** One of the configured nodes. */
export function checkNode({ config }: LoadedConfig, node: string): void {
  if (Object.hasOwn(config.nodes, node)) return;
  throw new UsageError(`${node} is not configured: the nodes are ${Object.keys(config.nodes).join(", ")}`);
}

/** The flag of the verbs that campaign. */
export const STORE_IN_TESTS = { "store-without-quorum-only-for-tests": { type: "boolean", default: false } } as const;

export function storeInTests(flags: { readonly "store-without-quorum-only-for-tests": boolean }): StoreInTests {
  const isForTests = flags["store-without-quorum-only-for-tests"];
  return { isForTests, wayAround: "--store-without-quorum-only-for-tests" };
}

/** What a guarded election needs to know of it. Refuses here already, in the words of the command line. */
export function checkStore(store: Store, inTests: StoreInTests): { readonly storeWithoutQuorum?: "only for tests" } {
  const refusal = refusalOfStore(store, inTests);
  if (refusal !== undefined) throw refusal;
  return inTests.isForTests ? { storeWithoutQuorum: "only for tests" } : {};
}

/** Who gives an order, for the audit log. */
export function operator(): string {
  const name = process.env["SUDO_USER"] ?? userName();
  return `${name}@${hostname()}`;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? "?"}`; // one without a name, as in a container
  }
}

export function asJson(value: unknown): string {
  const plain = (_key: string, each: unknown): unknown => (typeof each === "bigint" ? `${each}` : each);
  return `${JSON.stringify(value, plain)}\n`;
}
