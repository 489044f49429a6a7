// Every store that takes options refuses one that it does not know. In JavaScript a misspelled one would be ignored in silence, and with it what it was meant to do.
import { expect, it } from "vitest";
import { isConclaveError } from "conclave";
import { kubernetes } from "conclave/stores/kubernetes";
import { memory } from "conclave/stores/memory";
import { postgres } from "conclave/stores/postgres";
import { sqlite } from "conclave/stores/sqlite";

const client = { getCurrentCluster: () => null, getCurrentContext: () => "", applyToHTTPSOptions: async () => {} };

it.each<readonly [name: string, make: (options: never) => unknown, misspelled: object, meant: string]>([
  ["memory", (options) => memory(options), { shap: "line" }, "shape"],
  ["sqlite", (options) => sqlite(":memory:", options), { bindings: "libsql" }, "binding"],
  ["postgres", (options) => postgres("postgres://127.0.0.1/x", options), { schem: "x" }, "schema"],
  ["kubernetes", (options) => kubernetes("kubernetes://x", options), { kubeConfig: "x" }, "kubeconfig"],
  ["kubernetes with a client", (options) => kubernetes(client as never, options), { nameSpace: "x" }, "namespace"],
])("%s", (_, make, misspelled, meant) => {
  let refusal: unknown;
  try {
    make(misspelled as never);
  } catch (error) {
    refusal = error;
  }
  expect(isConclaveError(refusal) && refusal.code).toBe("CONFIG_INVALID");
  expect((refusal as Error).message).toContain(`is not an option; did you mean ${meant}?`);
});
