// Real servers for a test file: started before its tests, stopped after them. A package that is missing fails the run with the command that installs it.
import { afterAll, beforeAll } from "vitest";
import { missingPackages } from "../../scripts/servers/packages.mjs";
import type { Servers } from "../../scripts/servers/process.mjs";

export type { ServerNode, Servers } from "../../scripts/servers/process.mjs";

interface ServerModule<Options> {
  readonly packages: readonly string[];
  /** The name of an environment variable: the URL of a server that runs already, for many test files (scripts/mutants.mjs). */
  readonly shared?: string;
  start(options?: Options): Promise<Servers>;
}

/** Starts `module` for the tests of this file, unless one that may be shared will do. The returned function gives what runs. */
export function useServers<Options>(module: ServerModule<Options>, options?: Options): () => Servers {
  const shared = options === undefined && module.shared !== undefined ? process.env[module.shared] : undefined;
  if (shared !== undefined) return () => ({ urls: [shared], nodes: [], version: async () => "", stop: async () => {} });
  let running: Servers | undefined;
  beforeAll(async () => {
    const missing = missingPackages(module.packages);
    if (missing.length > 0) throw new Error(`missing: ${missing.join(", ")}. Run: npm run servers -- check`);
    running = await module.start(options);
  }, 120_000);
  afterAll(async () => await running?.stop(), 60_000);
  return () => {
    if (running === undefined) throw new Error("the servers are not started yet");
    return running;
  };
}
