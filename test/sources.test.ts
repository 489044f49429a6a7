// What every file of src has to be: how it begins, how long it gets, what it may not have. The other rules of the repository are in tidy.test.ts.
// Reads only. Every rule reports all its findings at once, each as `file:line: what is wrong and what to do`.
import ts from "ts59";
import { describe, expect, it } from "vitest";
import { at, read, sources, sqlFiles, walk } from "./support/repository.ts";

const FILE_LINES_MAX = 400;
const FUNCTION_LINES_MAX = 70;

/** Invariants, and the subjects that they belong to. */
const JUDGES = /^src\/simulator\/protocols\/(?:invariants|subjects)\//;

describe("a file of src", () => {
  it("begins with a comment that says what it promises", () => {
    const bare = [
      ...sources.filter((source) => !/^(?:#!.*\n)?\s*(?:\/\/|\/\*)/.test(source.text)).map(({ fileName }) => fileName),
      ...sqlFiles.filter((file) => !read(file).startsWith("-- ")),
    ];
    const problems = bare.map((file) => `${file}: begins without a comment; say in two to ten lines what it promises`);
    expect(problems).toEqual([]);
  });

  it("that belongs to a store has its SQL in a .sql file (docs/adr/0033-sql-in-files.md)", () => {
    const problems = sources
      .filter(({ fileName }) => fileName.startsWith("src/stores/"))
      .filter(({ text }) => /["`'](?:SELECT|INSERT|UPDATE|DELETE|CREATE)\s/.test(text))
      .map(({ fileName }) => `${fileName}: holds a statement of SQL; put it into sql/statements.sql`);
    expect(problems).toEqual([]);
  });

  it(`has at most ${FILE_LINES_MAX} lines`, () => {
    const problems = [...sources.map(({ fileName }) => fileName), ...sqlFiles]
      .map((file) => ({ file, lines: read(file).trimEnd().split("\n").length }))
      .filter(({ lines }) => lines > FILE_LINES_MAX)
      .map(({ file, lines }) => `${file}: has ${lines} lines; which concept in it has no name yet?`);
    expect(problems).toEqual([]);
  });

  it(`has functions of at most ${FUNCTION_LINES_MAX} lines`, () => {
    const problems: string[] = [];
    for (const source of sources) {
      walk(source, (node) => {
        if (!ts.isFunctionLike(node)) return;
        const lines = node.getText(source).split("\n").length;
        if (lines > FUNCTION_LINES_MAX)
          problems.push(`${at(source, node)}: a function of ${lines} lines; cut it by thought`);
      });
    }
    expect(problems).toEqual([]);
  });

  it("has no top-level await, which would hold up every module that imports it", () => {
    const problems: string[] = [];
    for (const source of sources) {
      walk(source, (node) => {
        if (ts.isFunctionLike(node)) return false;
        const isAwait =
          ts.isAwaitExpression(node) ||
          (ts.isForOfStatement(node) && node.awaitModifier !== undefined) ||
          (ts.isVariableDeclarationList(node) && /^await\b/.test(node.getText(source)));
        if (isAwait) problems.push(`${at(source, node)}: awaits while the module loads; move it into a function`);
        return true;
      });
    }
    expect(problems).toEqual([]);
  });

  it("that judges a protocol casts nothing: an invariant is typed by what it judges", () => {
    const problems: string[] = [];
    for (const source of sources.filter(({ fileName }) => JUDGES.test(fileName))) {
      walk(source, (node) => {
        if (!ts.isAsExpression(node) || ts.isConstTypeReference(node.type)) return;
        problems.push(`${at(source, node)}: casts; say the type where the value comes from`);
      });
    }
    expect(problems).toEqual([]);
  });

  it("has no default export: a thing has one name everywhere", () => {
    const problems: string[] = [];
    for (const source of sources) {
      walk(source, (node) => {
        const isDefault =
          ts.isExportAssignment(node) ||
          (node.kind === ts.SyntaxKind.DefaultKeyword && ts.canHaveModifiers(node.parent)) ||
          (ts.isExportSpecifier(node) && node.name.text === "default");
        if (isDefault) problems.push(`${at(source, node)}: exports by default; export it by name`);
      });
    }
    expect(problems).toEqual([]);
  });

  it("exports no type by a name that another file exports: one word, one thing", () => {
    const declaredIn = new Map<string, Set<string>>();
    for (const source of sources) {
      for (const name of exportedTypesOf(source)) {
        const places = declaredIn.get(name) ?? new Set();
        declaredIn.set(name, places.add(source.fileName));
      }
    }
    const shared = [...declaredIn].filter(([, places]) => places.size > 1);
    const problems = shared.map(
      ([name, places]) => `${[...places].join(", ")}: each exports a type ${name}; name each for what it is`,
    );
    expect(problems).toEqual([]);
  });
});

function exportedTypesOf(source: ts.SourceFile): readonly string[] {
  return source.statements.flatMap((statement) => {
    const isType =
      ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement) || ts.isClassDeclaration(statement);
    if (!isType || statement.name === undefined) return [];
    const isExported = statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false;
    return isExported ? [statement.name.text] : [];
  });
}
