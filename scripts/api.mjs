// @ts-check
// The API reference, docs/api: one page for each public module, made from the declarations of the last build. Whatever a comment in src says of a name,
// the page says. `npm run build && node scripts/api.mjs` writes it, and the tables of what stores promise (guarantees.mjs); `--check` fails if one is out of date.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import ts from "ts59";
import { publicModules } from "./exports.mjs";
import { renewPromises } from "./guarantees.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = path.join(root, "docs/api");

/** @typedef {import("./exports.mjs").PublicModule} PublicModule */
/** @typedef {{ name: string, kind: string, about: string, text: string }} Entry */

/** `conclave/stores/memory` → `stores-memory.md`. @param {PublicModule} module */
const pageOf = ({ name }) =>
  `${name === "conclave" ? "conclave" : name.slice("conclave/".length).replaceAll("/", "-")}.md`;

/** @returns {Map<string, string>} file name → text */
export function apiPages() {
  const modules = publicModules();
  const files = modules.map(({ entry }) => path.join(root, "dist/cjs", `${entry}.d.cts`));
  const missing = files.filter((file) => !existsSync(file));
  if (missing.length > 0) throw new Error(`not built: ${missing.join(", ")}. Run npm run build`);
  const program = ts.createProgram(files, {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    skipLibCheck: true,
    types: [],
  });
  const pages = new Map(
    modules.map((module, index) => [pageOf(module), pageText(module, entriesOf(program, files[index] ?? ""))]),
  );
  pages.set("README.md", indexText(modules));
  return pages;
}

/** Functions and classes first, then types; by name. @param {ts.Program} program @param {string} file @returns {Entry[]} */
function entriesOf(program, file) {
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  const symbol = source && checker.getSymbolAtLocation(source);
  if (symbol === undefined) throw new Error(`${file} exports nothing`);
  const entries = checker.getExportsOfModule(symbol).map((exported) => {
    const original = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
    return entryOf(exported.name, original);
  });
  return entries.toSorted((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name, "en"));
}

/** @param {Entry} entry */
const rank = ({ kind }) => ["function", "class", "const", "type"].indexOf(kind);

/** Of a name that a module of others declares too, only what is ours. @param {string} name @param {ts.Symbol} symbol @returns {Entry} */
function entryOf(name, symbol) {
  const ours = (symbol.declarations ?? []).filter((node) => !node.getSourceFile().fileName.includes("/node_modules/"));
  const declarations = ours.map(statementOf);
  const about = declarations.map(commentOf).find((text) => text !== "") ?? "";
  return { name, kind: kindOf(declarations[0]), about, text: declarations.map(textOf).join("\n") };
}

/** The comment right above, as one line; each item of a list in it is a line of its own. @param {ts.Node} node */
function commentOf(node) {
  const comment = ts.getJSDocCommentsAndTags(node).findLast(ts.isJSDoc)?.getText() ?? "";
  return comment
    .replace(/^\/\*\*/, "")
    .replace(/\*\/$/, "")
    .replaceAll(/^\s*\*/gm, "")
    .split(/\n(?=[ \t]*- )/)
    .map((part) => part.replaceAll(/\s+/g, " ").trim())
    .join("\n")
    .replace(/\n(?=- )/, "\n\n")
    .trim();
}

/** The whole statement of a variable, else the declaration itself. @param {ts.Node} node @returns {ts.Node} */
function statementOf(node) {
  return ts.isVariableDeclaration(node) ? node.parent.parent : node;
}

/** @param {ts.Node | undefined} node */
function kindOf(node) {
  if (node === undefined) return "type";
  if (ts.isFunctionDeclaration(node)) return "function";
  if (ts.isClassDeclaration(node)) return "class";
  return ts.isVariableStatement(node) ? "const" : "type";
}

/** Without `export`, `declare`, private fields and its own comment, which stands above it. @param {ts.Node} node */
function textOf(node) {
  return node
    .getText()
    .replace(/^export /, "")
    .replace(/^declare /, "");
}

/** @param {PublicModule} module @param {Entry[]} entries */
function pageText({ name }, entries) {
  const sections = entries.map(({ name: entry, about, text }) =>
    [`## \`${entry}\``, ...(about === "" ? [] : [about]), `\`\`\`typescript\n${text}\n\`\`\``].join("\n\n"),
  );
  const head = `# \`${name}\`\n\nMade from the declarations by \`scripts/api.mjs\`; do not edit. [All modules](README.md)`;
  return `${[head, ...sections].join("\n\n")}\n`;
}

/** @param {PublicModule[]} modules */
function indexText(modules) {
  const rows = modules.map((module) => `| [\`${module.name}\`](${pageOf(module)}) |`);
  return `# API reference\n\nOne page for each public module, made from the declarations by \`scripts/api.mjs\`. What each is for: [Architecture](../ARCHITECTURE.md#public-modules).\n\n| module |\n|---|\n${rows.join("\n")}\n`;
}

/** What is out of date in docs/api. @param {Map<string, string>} pages */
function staleOf(pages) {
  const present = existsSync(folder) ? readdirSync(folder) : [];
  const changed = [...pages].filter(
    ([file, text]) => !present.includes(file) || readFileSync(path.join(folder, file), "utf8") !== text,
  );
  return [...changed.map(([file]) => file), ...present.filter((file) => !pages.has(file))];
}

/** @param {Map<string, string>} pages */
function write(pages) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [file, text] of pages) writeFileSync(path.join(folder, file), text);
}

/** The record of a driver lacks something: its name is all that helps. @param {unknown} error @returns {string[]} */
function saidBriefly(error) {
  return [error instanceof Error ? error.message : String(error)];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const isCheck = process.argv.includes("--check");
  const pages = apiPages();
  if (!isCheck) write(pages);
  const stale = [
    ...staleOf(pages).map((file) => `docs/api/${file}`),
    ...(await renewPromises(isCheck).catch(saidBriefly)),
  ];
  if (stale.length > 0) {
    console.error(`out of date: ${stale.join(", ")}. Run npm run build && node scripts/api.mjs`);
    process.exitCode = 1;
  }
}
