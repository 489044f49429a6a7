// The files of the repository as tests of the whole read them: which there are, what they import, what they export.
// Works without git, so that a fresh download can be tested; it ignores what .gitignore ignores.
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import ts from "ts59";

export const root = fileURLToPath(new URL("../..", import.meta.url));
export const read = (file: string): string => readFileSync(path.join(root, file), "utf8");
export const lineOf = (text: string, offset: number): number => text.slice(0, offset).split("\n").length;

/** Plain names and `*.suffix`, which is all that our .gitignore uses. */
const ignored = read(".gitignore").split("\n");
export const files = listFiles("");
export const sources = files.filter((file) => file.startsWith("src/") && file.endsWith(".ts")).map(parse);
export const sqlFiles = files.filter((file) => file.startsWith("src/") && file.endsWith(".sql"));

/** Every file that git would see, as a path with `/` from the root. */
export function listFiles(folder: string): readonly string[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === ".git" || isIgnored(entry.name)) return [];
    const name = path.posix.join(folder, entry.name);
    if (entry.isDirectory()) return listFiles(name);
    return entry.isFile() ? [name] : [];
  });
}

function isIgnored(name: string): boolean {
  return ignored.some((pattern) => pattern === name || (/^\*\.\w+$/.test(pattern) && name.endsWith(pattern.slice(1))));
}

export function parse(file: string): ts.SourceFile {
  return ts.createSourceFile(file, read(file), ts.ScriptTarget.ESNext, true);
}

/** Visits every node below; does not go into a node for which `visit` returns `false`. */
export function walk(node: ts.Node, visit: (node: ts.Node) => boolean | void): void {
  ts.forEachChild(node, (child) => {
    if (visit(child) !== false) walk(child, visit);
  });
}

export const at = (source: ts.SourceFile, node: ts.Node): string =>
  `${source.fileName}:${lineOf(source.text, node.getStart(source))}`;

export function findImports(source: ts.SourceFile): readonly { readonly specifier: string; readonly at: string }[] {
  const imports = ts.preProcessFile(source.text, true, true).importedFiles;
  return imports.map(({ fileName, pos }) => ({
    specifier: fileName,
    at: `${source.fileName}:${lineOf(source.text, pos)}`,
  }));
}

/** What a module exports: its own, and what it hands on. */
export function offeredBy(file: string): readonly string[] {
  const source = parse(file);
  const own = [
    ...source.text.matchAll(/^export (?:abstract )?(?:async )?(?:class|const|function|interface|type) (\w+)/gm),
  ];
  const handedOn = source.statements.flatMap((statement) => {
    if (!ts.isExportDeclaration(statement) || statement.moduleSpecifier === undefined) return [];
    const from = pathOf(source, statement.moduleSpecifier);
    const clause = statement.exportClause;
    if (clause === undefined || !ts.isNamedExports(clause)) return clause === undefined ? offeredBy(from) : [];
    return clause.elements.map(({ name, propertyName }) => `${from}#${(propertyName ?? name).text}`);
  });
  return [...own.map((match) => `${file}#${match[1]}`), ...handedOn];
}

/** Every `import { name } from` a file of ours. */
export function namedImports(source: ts.SourceFile): readonly { from: string; name: string; node: ts.Node }[] {
  return source.statements.filter(ts.isImportDeclaration).flatMap(({ moduleSpecifier, importClause }) => {
    const bindings = importClause?.namedBindings;
    if (bindings === undefined || !ts.isNamedImports(bindings)) return [];
    const from = pathOf(source, moduleSpecifier);
    return bindings.elements.map((node) => ({ from, name: (node.propertyName ?? node.name).text, node }));
  });
}

export function pathOf(source: ts.SourceFile, specifier: ts.Expression): string {
  return path.posix.join(path.posix.dirname(source.fileName), (specifier as ts.StringLiteral).text);
}

/** Files of src/stores that are not drivers, and so have no subpath of their own. */
export const NOT_A_DRIVER = [
  "src/stores/banned.ts",
  "src/stores/call.ts",
  "src/stores/granted-ttl.ts",
  "src/stores/host-clock.ts",
  "src/stores/invitations.ts",
  "src/stores/mailbox.ts",
  "src/stores/mark.ts",
  "src/stores/memos.ts",
  "src/stores/few-at-once.ts",
  "src/stores/watched.ts",
];
