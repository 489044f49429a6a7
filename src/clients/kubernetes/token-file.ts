// A token in a file. The file is read for every request: it is small, mostly in memory, and Kubernetes replaces it while we run.
import { readFileSync } from "node:fs";
import type { Credentials, ShownCredential } from "./access.ts";
import { KubernetesError } from "./errors.ts";

export class TokenFile implements Credentials {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  get(): ShownCredential {
    try {
      return { token: readFileSync(this.#file, "utf8").trim() };
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new KubernetesError("unknown-user", "not-applied", `the token cannot be read: ${why}`, cause);
    }
  }
}
