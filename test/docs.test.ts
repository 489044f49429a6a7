// The pages against the code: every code, event, link and command that they name exists, and none is missing. And what they show compiles.
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { ConclaveEvent } from "conclave";
import { createFailoverMetrics } from "conclave/failover";
import { createMetrics } from "conclave/telemetry";
import ts from "ts59";
import { describe, expect, it } from "vitest";
import { publicModules } from "../scripts/exports.mjs";
import { ERROR_CODES } from "../src/base/errors.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const read = (file: string): string => readFileSync(path.join(root, file), "utf8");

const pages = [
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "CHANGELOG.md",
  ...markdownIn("docs"),
  ...markdownIn("examples"),
];

function markdownIn(folder: string): readonly string[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = path.posix.join(folder, entry.name);
    if (entry.isDirectory()) return markdownIn(name);
    return name.endsWith(".md") ? [name] : [];
  });
}

/** The headings that are nothing but `code`. */
const headings = (page: string): readonly string[] =>
  [...read(page).matchAll(/^## `([^`]+)`$/gm)].map(([, name]) => name ?? "");

const sorted = (names: readonly string[]): readonly string[] => names.toSorted((a, b) => a.localeCompare(b));

/** As a heading is linked to: lower case, no punctuation, hyphens for spaces. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-");

const withoutCode = (text: string): string => text.replaceAll(/^```[\s\S]*?^```/gm, "").replaceAll(/`[^`\n]*`/g, "");

describe("docs/adr/README.md", () => {
  it("lists every record once, with its title, and no other", () => {
    const records = readdirSync(path.join(root, "docs/adr")).filter((file) => /^\d{4}-/.test(file));
    const titles = records.map((file) => {
      const [title = ""] = read(`docs/adr/${file}`).split("\n", 1);
      return `${file}: ${title.replace(/^# \d+[:.] /, "")}`;
    });
    const rows = [...read("docs/adr/README.md").matchAll(/^\| \[(\d+)\]\((.*?)\) \| (.*) \|$/gm)];
    expect(rows.filter(([, number, file = ""]) => Number(number) !== Number.parseInt(file, 10))).toEqual([]);
    expect(sorted(rows.map(([, , file, title]) => `${file}: ${title}`))).toEqual(sorted(titles));
  });
});

describe("docs/ARCHITECTURE.md", () => {
  it("has a row for every folder of src, and for no other", () => {
    const rows = [...read("docs/ARCHITECTURE.md").matchAll(/^\| (`src\/\w+`(?:, `src\/\w+`)*) \|/gm)];
    const named = rows.flatMap(([, cell = ""]) => [...cell.matchAll(/src\/(\w+)/g)].map(([, name = ""]) => name));
    const folders = readdirSync(path.join(root, "src"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(sorted(named)).toEqual(sorted(folders.map(({ name }) => name)));
  });
});

describe("docs/ERRORS.md", () => {
  it("has a row for every code, with what the code says of retrying, and for no other", () => {
    const rows = [...read("docs/ERRORS.md").matchAll(/^\| `([A-Z_]+)` \| (yes|no) \|/gm)];
    const documented = Object.fromEntries(rows.map(([, code, retryable]) => [code, retryable === "yes"]));
    expect(documented).toEqual(ERROR_CODES);
  });

  it("has a section for every code, and for no other", () => {
    expect(sorted(headings("docs/ERRORS.md"))).toEqual(sorted(Object.keys(ERROR_CODES)));
  });

  it("says in every section what to do", () => {
    const sections = read("docs/ERRORS.md").split(/^## /m).slice(1);
    expect(sections.filter((section) => !section.includes("**What to do.**"))).toEqual([]);
  });
});

describe("docs/EVENTS.md", () => {
  /** Complete by its type: an event that is missing here, or that is gone, does not compile. */
  const EVENTS: Readonly<Record<ConclaveEvent["type"], true>> = {
    session: true,
    renewed: true,
    standing: true,
    waiting: true,
    elected: true,
    state: true,
    lost: true,
    overstayed: true,
    settled: true,
    released: true,
    "handed-back": true,
    leader: true,
    error: true,
    recovered: true,
    schedule: true,
    warning: true,
  };

  it("has a section for every event, and for no other", () => {
    expect(sorted(headings("docs/EVENTS.md"))).toEqual(sorted(Object.keys(EVENTS)));
  });

  it("knows the events that src/lease/events.ts declares", () => {
    const declared = [...read("src/lease/events.ts").matchAll(/readonly type: "([^"]+)"/g)].map(
      ([, type]) => type ?? "",
    );
    expect(sorted(declared)).toEqual(sorted(Object.keys(EVENTS)));
  });
});

describe("README.md", () => {
  it("gives the two commands of a clone first, then the one of a user, in blocks of their own; package.json has the scripts", () => {
    const { scripts } = JSON.parse(read("package.json")) as { readonly scripts: Readonly<Record<string, string>> };
    const blocks = [...read("README.md").matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, block]) => block?.trim());
    expect(blocks).toEqual(["npm ci && npm start", "npm ci && npm test", "npm install conclave pg"]);
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(["start", "test"]));
  });

  it("names only npm scripts that exist, as do all pages", () => {
    const { scripts } = JSON.parse(read("package.json")) as { readonly scripts: Readonly<Record<string, string>> };
    const problems = pages.flatMap((page) =>
      [...read(page).matchAll(/\bnpm run ([\w:-]+)/g)]
        .filter(([, script]) => !(script !== undefined && script in scripts))
        .map(([command]) => `${page}: ${command}`),
    );
    expect(problems).toEqual([]);
  });
});

describe("docs/README.md", () => {
  it("leads to every page but the decision records and the API, which have folders", () => {
    const targets = [...read("docs/README.md").matchAll(/\]\(([^)\s#]+)\)/g)].map(([, target]) => `docs/${target}`);
    const missing = markdownIn("docs").filter(
      (page) => page !== "docs/README.md" && !/^docs\/(?:adr|api)\/(?!README)/.test(page),
    );
    expect(missing.filter((page) => !targets.includes(page))).toEqual([]);
  });
});

describe("docs/api", () => {
  it.each(readdirSync(path.join(root, "docs/api")).filter((page) => page !== "README.md"))(
    "%s says of everything what it is",
    (page) => {
      const bare = [...read(`docs/api/${page}`).matchAll(/^## `([^`]+)`\n\n```/gm)].map(([, name]) => name);
      expect(bare).toEqual([]);
    },
  );

  it("has no page for a module that is gone; npm run verify compares the others with the declarations", () => {
    const pages = publicModules().map(
      ({ subpath }) => `${subpath.replace(/^\.\/?/, "").replaceAll("/", "-") || "conclave"}.md`,
    );
    expect(readdirSync(path.join(root, "docs/api")).filter((page) => ![...pages, "README.md"].includes(page))).toEqual(
      [],
    );
  });
});

describe("a metric that a page, an alert rule or the dashboard names", () => {
  const families = createMetrics().collect();
  const files = [...markdownIn("docs"), "docs/monitoring/alerts.yml", "docs/monitoring/dashboard.json"];
  const namedIn = (file: string): readonly string[] =>
    [
      ...read(file).matchAll(
        /\bconclave_[a-z_]*(?:_total|_seconds(?:_bucket|_sum|_count)?|leading|jeopardy|token|trouble)\b/g,
      ),
    ].map(([name]) => name);

  it("is exported", () => {
    const known = new Set(
      [...families, ...createFailoverMetrics("orders").collect()].flatMap(({ name, type }) =>
        type === "histogram" ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
      ),
    );
    const problems = files.flatMap((file) => namedIn(file).filter((name) => !known.has(name)).map((name) => `${file}: ${name}`)); // prettier-ignore
    expect(problems).toEqual([]);
  });

  it("is in the table of docs/EVENTS.md if it is exported", () => {
    const rows = [...read("docs/EVENTS.md").matchAll(/^\| `(conclave_\w+)` \|/gm)].map(([, name]) => name ?? "");
    expect(sorted(rows)).toEqual(sorted(families.map(({ name }) => name)));
  });

  it("is on a dashboard that can be read, and in rules that say what happened", () => {
    const { panels } = JSON.parse(read("docs/monitoring/dashboard.json")) as { readonly panels: readonly object[] };
    expect(panels.length).toBeGreaterThan(0);
    const rules = read("docs/monitoring/alerts.yml").split("- alert: ").slice(1);
    expect(rules.filter((rule) => !/expr: /.test(rule) || !/summary: /.test(rule))).toEqual([]);
  });
});

describe("a link in a page", () => {
  it("leads to a file or a heading that exists", () => {
    const problems = pages.flatMap((page) =>
      [...withoutCode(read(page)).matchAll(/\]\(([^)\s]+)\)/g)]
        .map(([, target]) => target ?? "")
        .filter((target) => !/^[a-z]+:/.test(target) && !leads(page, target))
        .map((target) => `${page}: ${target}`),
    );
    expect(problems).toEqual([]);
  });

  it("leads to something that is in the package, so that it works there too", () => {
    const { files } = JSON.parse(read("package.json")) as { readonly files: readonly string[] };
    const shipped = [...files, "README.md", "LICENSE", "package.json"];
    const problems = pages.flatMap((page) =>
      [...withoutCode(read(page)).matchAll(/\]\(([^)\s#]+)[^)]*\)/g)]
        .map(([, target]) => target ?? "")
        .filter((target) => !/^[a-z]+:/.test(target))
        .map((target) => leadsTo(page, target))
        .filter((to) => !shipped.some((file) => to === file || to.startsWith(`${file}/`)))
        .map((to) => `${page}: ${to}`),
    );
    expect(problems).toEqual([]);
  });

  const leadsTo = (page: string, file: string): string => path.posix.join(path.posix.dirname(page), file);

  function leads(page: string, target: string): boolean {
    const [file = "", anchor] = target.split("#");
    const to = file === "" ? page : leadsTo(page, file);
    if (!existsSync(path.join(root, to))) return false;
    if (anchor === undefined) return true;
    return [...read(to).matchAll(/^#+ (.*)$/gm)].some(([, heading]) => anchorOf(heading ?? "") === anchor);
  }
});

describe("a TypeScript block in a page", () => {
  it("compiles, with the names that users import", () => {
    const folder = mkdtempSync(path.join(tmpdir(), "conclave-docs-"));
    // A block may import the package that it explains, which the reader has.
    symlinkSync(path.join(root, "node_modules"), path.join(folder, "node_modules"), "junction");
    try {
      expect(compileBlocks(folder)).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }, 120_000);

  function compileBlocks(folder: string): readonly string[] {
    const blocks = pages.flatMap((page) =>
      [...read(page).matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(([, code], index) => ({
        from: `${page}, block ${index + 1}`,
        code: code ?? "",
      })),
    );
    expect(blocks.length).toBeGreaterThanOrEqual(5);
    writeFileSync(path.join(folder, "package.json"), `{ "type": "module" }`);
    const files = blocks.map(({ code }, index) => {
      const file = path.join(folder, `block-${index}.ts`);
      writeFileSync(file, `${code}\nexport {};\n`);
      return file;
    });
    const { config } = ts.readConfigFile(path.join(root, "tsconfig.json"), (file) => ts.sys.readFile(file));
    const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
    const program = ts.createProgram(files, { ...options, typeRoots: [path.join(root, "node_modules/@types")] });
    return files.flatMap((file, index) => {
      const source = program.getSourceFile(file);
      return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)]
        .filter(({ messageText }) => !isOwnFile(messageText))
        .map(({ messageText }) => `${blocks[index]?.from}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`);
    });
  }

  /** A block may import one of the reader's own files, which is whatever the block needs. */
  const isOwnFile = (message: string | ts.DiagnosticMessageChain): boolean =>
    typeof message === "string" && message.startsWith("Cannot find module './");
});
