// Which answers of etcd mean that nothing was done. A guess in the wrong direction can make two leaders, so each line that says so has a case here that it must not cover.
import { describe, expect, it } from "vitest";
import { EtcdError, errorOfStatus, unreadable } from "../../../src/clients/etcd/errors.ts";
import { outcomeOf } from "../../../src/stores/etcd/refusals.ts";

describe("is unknown:", () => {
  it.each([
    [14, "etcdserver: request timed out"],
    [14, "etcdserver: request timed out, possibly due to previous leader failure"],
    [14, "etcdserver: request timed out, possibly due to connection lost"],
    [14, "etcdserver: leader changed"],
    [14, "etcdserver: server stopped"],
    [14, "transport is closing"],
    [4, "context deadline exceeded"],
    [1, "context canceled"],
    [2, ""],
    [8, "grpc: trying to send message larger than max (5 vs. 4)"],
    [13, "stream terminated by RST_STREAM with code 2"],
  ])("status %d: %s", (code, message) => {
    const error = errorOfStatus(code, message);
    expect(error.outcome).toBe("unknown");
    expect(outcomeOf(error, "x/").kind).toBe("unknown");
  });

  it("an error that only repeats the words of another", () => {
    for (const said of ["etcdserver: no leader", "etcdserver: too many requests", "etcdserver: permission denied"])
      expect(errorOfStatus(14, `upstream failed after the request was sent: ${said}`).outcome).toBe("unknown");
  });

  it("an answer that cannot be read", () => {
    expect(unreadable(new RangeError("a cut message"))).toMatchObject({ problem: "other", outcome: "unknown" });
  });

  it("what is no error of this client", () => {
    for (const error of [new Error("words"), new TypeError("x is not a function"), undefined, "text"])
      expect(outcomeOf(error, "x/").kind).toBe("unknown");
  });

  it("whatever the problem is, if the error says so", () => {
    for (const problem of ["unreachable", "tls", "denied", "busy", "no-space", "other"] as const)
      expect(outcomeOf(new EtcdError(problem, "unknown", "words"), "x/").kind).toBe("unknown");
  });
});

it("is refused: what etcd says before it has done anything, and a method that it does not have", () => {
  for (const message of ["etcdserver: requested lease not found", "etcdserver: no leader", "etcdserver: not capable"])
    expect(outcomeOf(errorOfStatus(14, message), "x/").kind).toBe("refused");
  expect(outcomeOf(errorOfStatus(12, "unknown method Txn"), "x/").kind).toBe("refused");
});
