// The part of YAML that is read: what tools write into kubeconfig files, and what is refused because it would be guessed.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseYaml, YamlError } from "../../../src/clients/kubernetes/yaml.ts";

describe("parseYaml", () => {
  it("reads what kubectl writes: lists that are not indented, nested mappings, empty collections, comments", () => {
    const text = `# made by hand
apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: QUJD
    server: https://10.0.0.1:6443   # the one in the cellar
  name: kind-a
contexts:
- context:
    cluster: kind-a
    user: "kind a"
  name: 'it''s'
current-context: it's
kind: Config
preferences: {}
users: []
`;
    expect(parseYaml(text)).toEqual({
      apiVersion: "v1",
      clusters: [
        { cluster: { "certificate-authority-data": "QUJD", server: "https://10.0.0.1:6443" }, name: "kind-a" },
      ],
      contexts: [{ context: { cluster: "kind-a", user: "kind a" }, name: "it's" }],
      "current-context": "it's",
      kind: "Config",
      preferences: {},
      users: [],
    });
  });

  it("reads what clouds write: plugins with lists of arguments, null, indented lists, block texts, quoted keys", () => {
    const text = `users:
  - name: "arn:aws:eks:eu-1:1:cluster/a"
    user:
      exec:
        apiVersion: client.authentication.k8s.io/v1beta1
        command: aws
        args:
          - --region
          - eu-1
          -
        env: null
        installHint: |
          Install it.
            See the page.
        interactiveMode: IfAvailable
        provideClusterInfo: false
        'quoted: key': "tab\\tand \\u00e9"
`;
    expect(parseYaml(text)).toEqual({
      users: [
        {
          name: "arn:aws:eks:eu-1:1:cluster/a",
          user: {
            exec: {
              apiVersion: "client.authentication.k8s.io/v1beta1",
              command: "aws",
              args: ["--region", "eu-1", undefined],
              env: undefined,
              installHint: "Install it.\n  See the page.\n",
              interactiveMode: "IfAvailable",
              provideClusterInfo: "false",
              "quoted: key": "tab\tand é",
            },
          },
        },
      ],
    });
  });

  it("keeps every scalar a text: a token of digits, a version, a word that looks like a number", () => {
    expect(parseYaml("a: 0123\nb: 1e5\nc: true\nd: 2026-11-16\ne: a#b\nf: http://x:1/#y\n")).toEqual({
      a: "0123",
      b: "1e5",
      c: "true",
      d: "2026-11-16",
      e: "a#b",
      f: "http://x:1/#y",
    });
  });

  it("reads JSON", () => {
    expect(parseYaml('{"a": [1, {"b": null}], "c": "d"}')).toEqual({ a: ["1", { b: undefined }], c: "d" });
  });

  it.each([
    ["an anchor", "a: &x b\n"],
    ["an alias", "a: *x\n"],
    ["a tag", "a: !!str b\n"],
    ["two documents", "a: b\n---\nc: d\n"],
    ["a tab", "a:\n\tb: c\n"],
    ["a key twice", "a: b\na: c\n"],
    ["a quoted text over two lines", 'a: "b\n  c"\n'],
    ["an indentation that fits nothing", "a:\n    b: c\n  d: e\n"],
    ["a flow collection that is no JSON", "a: {b: c}\n"],
  ])("refuses %s, with its line", (_, text) => {
    expect(() => parseYaml(text)).toThrow(YamlError);
    expect(() => parseYaml(text)).toThrow(/^line \d+: /);
  });

  it("neither hangs nor fails in another way, whatever it is given", () => {
    const signs = fc.constantFrom(..."ab:- \n\"'#{}[]|>&*!,\\\t0".split(""));
    fc.assert(
      fc.property(fc.array(signs, { maxLength: 60 }), (text) => {
        try {
          parseYaml(text.join(""));
        } catch (error) {
          expect(error).toBeInstanceOf(YamlError);
        }
      }),
      { numRuns: 3_000 },
    );
  });
});
