// Which answers of an API server mean that nothing was done. A guess in the wrong direction can make two leaders, so each line that says so has a case here that it must not cover.
import { describe, expect, it } from "vitest";
import { KubernetesError, errorOfStatus } from "../../../src/clients/kubernetes/errors.ts";
import { outcomeOf } from "../../../src/stores/kubernetes/refusals.ts";

describe("is unknown:", () => {
  it.each([500, 502, 503, 504, 599, 202, 204, 206, 408, 499])("status %d", (status) => {
    const error = errorOfStatus(status, "k8s.example", "words");
    expect(error?.outcome).toBe("unknown");
    expect(outcomeOf(error, "default").kind).toBe("unknown");
  });

  it("what is no error of this client", () => {
    for (const error of [new Error("words"), new TypeError("x is not a function"), undefined, "text"])
      expect(outcomeOf(error, "default").kind).toBe("unknown");
  });

  it("whatever the problem is, if the error says so", () => {
    for (const problem of ["unreachable", "tls", "forbidden", "busy", "foreign", "other"] as const)
      expect(outcomeOf(new KubernetesError(problem, "unknown", "words"), "default").kind).toBe("unknown");
  });
});

it("is refused: what the server says before it has done anything", () => {
  for (const status of [400, 401, 403, 413, 429, 302])
    expect(outcomeOf(errorOfStatus(status, "k8s.example", "words"), "default").kind).toBe("refused");
});
