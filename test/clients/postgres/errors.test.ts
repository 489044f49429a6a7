// Which errors of PostgreSQL and its clients mean that nothing was done. A guess in the wrong direction can make two leaders, so each line that says "refused" has a case here that it must not cover. The
// sentences are tested against a real server (test/stores/postgres/errors.test.ts).
import { describe, expect, it } from "vitest";
import { outcomeOf } from "../../../src/stores/postgres/refusals.ts";

const where = { place: "db.example:5432/app", schema: "conclave" };
const said = (fields: object, message = "words"): Error => Object.assign(new Error(message), fields);
const kindOf = (error: unknown): string => outcomeOf(error, where).kind;
const ofServer = (code: string, severity = "ERROR"): Error => said({ code, severity });

describe("is unknown:", () => {
  it.each(["08000", "08003", "08006", "08P01", "57P01", "57P02", "57P05", "40003", "58000", "58030", "XX000"])(
    "an error %s, after which the transaction may be committed",
    (code) => {
      expect(kindOf(ofServer(code))).toBe("unknown");
      expect(kindOf(ofServer(code, "FATAL"))).toBe("unknown");
    },
  );

  it.each(["53100", "XX001", "XX002", "40001", "53200"])(
    "an error %s that ends the connection or the server, and not only the statement",
    (code) => {
      for (const severity of ["FATAL", "PANIC", "FEHLER", ""]) expect(kindOf(ofServer(code, severity))).toBe("unknown");
    },
  );

  it("an error whose code is none of SQL", () => {
    for (const code of ["", "ECONNRESET", "ETIMEDOUT", "CONNECTION_CLOSED", "CONNECTION_DESTROYED", "P01"])
      expect(kindOf(ofServer(code))).toBe("unknown");
  });

  it.each(["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "ENOENT"])(
    "%s while reading or writing: the connection was there",
    (code) => {
      for (const syscall of ["read", "write"]) expect(kindOf(said({ code, syscall }))).toBe("unknown");
    },
  );

  it("a right that is missing while writing, as when a firewall begins to refuse", () => {
    for (const code of ["EPERM", "EACCES"]) expect(kindOf(said({ code, syscall: "write" }))).toBe("unknown");
  });

  it("a connection that TLS ended in the midst of a request", () => {
    expect(kindOf(said({ code: "EPROTO", syscall: "write" }))).toBe("unknown");
    expect(kindOf(said({ code: "ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC" }))).toBe("unknown");
  });

  it("a time that ran out after the request was sent", () => {
    for (const message of ["Query read timeout", "canceled: timeout", "Connection terminated", "socket hang up"])
      expect(kindOf(said({}, message))).toBe("unknown");
  });

  it("a broken connection to a host whose name has words of ours", () => {
    expect(kindOf(said({ code: "CONNECTION_CLOSED" }, "write CONNECTION_CLOSED SASL-db:5432"))).toBe("unknown");
  });

  it("what is no error of a client at all", () => {
    for (const error of [undefined, null, "text", new TypeError("x is not a function")])
      expect(kindOf(error)).toBe("unknown");
  });
});

describe("is refused:", () => {
  it.each(["23505", "40001", "40P01", "42P01", "53100", "53200", "55P03", "57014", "XX001", "25006"])(
    "an ERROR %s, which ended the statement and its transaction",
    (code) => expect(kindOf(ofServer(code))).toBe("refused"),
  );

  it.each(["28P01", "28000", "3D000", "57P03", "53300"])("a server %s that lets nobody in", (code) =>
    expect(kindOf(ofServer(code, "FATAL"))).toBe("refused"),
  );

  it("a connection that could not be made, or was closed before", () => {
    for (const [fields, message] of [
      [{ code: "ECONNREFUSED", syscall: "connect" }, ""],
      [{ code: "ENOTFOUND", syscall: "getaddrinfo" }, ""],
      [{ code: "EACCES", syscall: "connect" }, ""],
      [{ code: "CONNECT_TIMEOUT" }, ""],
      [{ code: "CONNECTION_ENDED" }, ""],
      [{ code: "CERT_HAS_EXPIRED" }, ""],
      [{}, "timeout exceeded when trying to connect"],
      [{}, "Cannot use a pool after calling end on the pool"],
    ] as const)
      expect(kindOf(said(fields, message))).toBe("refused");
  });
});
