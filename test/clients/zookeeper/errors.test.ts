// Which answers of ZooKeeper mean that nothing was done. A guess in the wrong direction can make two leaders, so each line that says so has a case here that it must not cover.
import { describe, expect, it } from "vitest";
import { CODE, errorOfCode, ZooKeeperError } from "../../../src/clients/zookeeper/errors.ts";
import { outcomeOf } from "../../../src/stores/zookeeper/refusals.ts";

const HERE = { chroot: "", user: undefined };

describe("is unknown:", () => {
  it.each([
    [-1, "a system error"],
    [CODE.inconsistency, "a runtime inconsistency"],
    [-3, "a data inconsistency"],
    [-4, "a connection that was lost"],
    [-5, "an error in marshalling"],
    [-7, "a time that ran out"],
    [-123, "a reconfiguration"],
    [-9999, "a code that is not known"],
  ])("code %d, %s", (code) => {
    const error = errorOfCode(code, "/x");
    expect(error.outcome).toBe("unknown");
    expect(outcomeOf(error, HERE).kind).toBe("unknown");
  });

  it("what is no error of this client", () => {
    for (const error of [new Error("words"), new TypeError("x is not a function"), undefined, "text"])
      expect(outcomeOf(error, HERE).kind).toBe("unknown");
  });

  it("whatever the problem is, if the error says so", () => {
    for (const problem of ["unreachable", "expired", "moved", "malformed", "no-node", "other"] as const)
      expect(outcomeOf(new ZooKeeperError(problem, "unknown", "words"), HERE).kind).toBe("unknown");
  });
});

it.each([
  [CODE.localSession, "STORE_UNSUPPORTED", /localSessionsUpgradingEnabled=true/],
  [CODE.notLoggedIn, "STORE_DENIED", /have logged in.*user and password into the URL/],
])("is refused for good, with what to change: code %d", (code, refusal, message) => {
  const refused = outcomeOf(errorOfCode(code, "/x"), HERE);
  expect(refused).toMatchObject({ kind: "refused", code: refusal, retryable: false });
  expect(refused).toMatchObject({ message: expect.stringMatching(message) });
});

it("is refused: what a server says before it has done anything", () => {
  const said = [CODE.noNode, CODE.badVersion, CODE.nodeExists, CODE.notEmpty, CODE.sessionExpired, CODE.sessionMoved];
  for (const code of [...said, CODE.noAuth, CODE.quota, CODE.throttled, CODE.notReadOnly])
    expect(outcomeOf(errorOfCode(code, "/x"), HERE).kind).toBe("refused");
});
