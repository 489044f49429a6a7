// A request is one text, and no value that is put into it can become a header or another request.
import { describe, expect, it } from "vitest";
import { headerLines, requestText } from "../../../src/clients/http/request-text.ts";

const LINES = headerLines([
  ["host", "api:443"],
  ["authorization", "Bearer a.b-c_d=="],
]);

describe("a request", () => {
  it("has its line, its headers, and an empty line", () => {
    expect(requestText("GET", "/a/b?c=d%20e", LINES, undefined)).toEqual({
      text: "GET /a/b?c=d%20e HTTP/1.1\r\nhost: api:443\r\nauthorization: Bearer a.b-c_d==\r\n\r\n",
      encoding: "latin1",
    });
  });

  it.each([
    ['{"a":"b"}', 9, "latin1"],
    ['{"a":"é"}', 10, "utf8"],
    ['{"a":"𝕏"}', 12, "utf8"],
    ["", 0, "latin1"],
  ] as const)("with the body %s says how many bytes that has", (body, length, encoding) => {
    const asked = requestText("PUT", "/", "", body);
    expect(asked.text.endsWith(`content-length: ${length}\r\n\r\n${body}`)).toBe(true);
    expect(asked.encoding).toBe(encoding);
    expect(Buffer.from(asked.text, asked.encoding).toString()).toBe(asked.text);
  });

  it.each(["\r\n", "\n", "\r", "\0", "\t", "é", "\u{2028}", "\x7f"])(
    "takes no header with %j in its value, and does not show the value",
    (bad) => {
      const build = () => headerLines([["authorization", `Bearer secret${bad}x-other: 1`]]);
      expect(build).toThrow(/the header "authorization" has a character that HTTP does not allow/);
      expect(build).not.toThrow(/secret/);
    },
  );

  it.each(["a b", "a:", "", "a\r\nb", "é"])("takes no header with the name %j", (name) => {
    expect(() => headerLines([[name, "v"]])).toThrow(/has a character that HTTP does not allow/);
  });

  it.each(["/a b", "/a\r\nx-other: 1", "/a HTTP/1.1\r\n\r\nGET /b", "/é", "a", "", "/a\0"])(
    "takes no path %j",
    (path) => {
      expect(() => requestText("GET", path, LINES, undefined)).toThrow(/cannot be asked for/);
    },
  );

  it.each(["GET /", "get", "", "G\r\n"])("takes no method %j", (method) => {
    expect(() => requestText(method, "/", LINES, undefined)).toThrow(/is no method of HTTP/);
  });
});
