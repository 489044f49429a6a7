// Runs both compilers over misuse.ts alone: once as it is, and once over a copy of src in which every term has a token, which is the mistake that
// the distinction between UnfencedTerm and Term is there to prevent.
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = mkdtempSync(path.join(tmpdir(), "conclave-types-"));
const COMPILERS = ["typescript", "ts59"] as const;
/** A compiler needs 2 s, and on a busy machine many times that. */
const COMPILES_WITHIN_MS = 120_000;

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What the compiler says about misuse.ts of the repository at `base`, line by line, under that repository's own configuration. */
function compile(compiler: string, base: string): Promise<readonly string[]> {
  const config = path.join(folder, `tsconfig.${compiler}.${base === root ? "real" : "patched"}.json`);
  writeFileSync(
    config,
    JSON.stringify({
      extends: path.join(base, "tsconfig.json"),
      compilerOptions: { typeRoots: [path.join(root, "node_modules/@types")] },
      include: [],
      files: [path.join(base, "test/types/misuse.ts"), path.join(base, "src/base/sql-file.d.ts")],
    }),
  );
  const tsc = path.join(root, "node_modules", compiler, "bin/tsc");
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [tsc, "-p", config, "--pretty", "false"], { cwd: base }, (failure, stdout) => {
      const errors = stdout.split("\n").filter((line) => line.includes("error TS"));
      if (failure && errors.length === 0) reject(new Error(`${compiler} did not run`, { cause: failure }));
      else resolve(errors);
    });
  });
}

/** A copy of what misuse.ts needs, with `token`, and the bans and transfers that need one, moved up from Term to UnfencedTerm. */
function patchedCopy(): string {
  const base = path.join(folder, "patched");
  for (const part of ["src", "test/types/misuse.ts", "package.json", "tsconfig.json", "tsconfig.base.json"])
    cpSync(path.join(root, part), path.join(base, part), { recursive: true });
  const file = path.join(base, "src/election/term.ts");
  const text = readFileSync(file, "utf8");
  const head = "export interface UnfencedTerm extends AsyncDisposable {";
  expect(text).toContain(head);
  const token = `readonly token: import("../fencing/token.ts").FencingToken;`;
  const bans = "ban(node: string, why: string): Promise<void>; lift(node: string): Promise<void>;";
  const transfer = `transfer(to: string, options?: Pick<TransferOptions, "withinMs">): Promise<TransferAnswer>;`;
  expect(text).toContain(transfer);
  writeFileSync(file, text.replace(head, `${head}\n  ${token}\n  ${bans}\n  ${transfer}`));
  return base;
}

describe("misuse that must not compile", () => {
  let patched = "";
  beforeAll(() => {
    patched = patchedCopy();
  });

  it("is written down, each with the claim that it breaks", () => {
    const text = readFileSync(new URL("./misuse.ts", import.meta.url), "utf8");
    const claims = [...text.matchAll(/\/\/ @ts-expect-error\b(.*)/g)].map((match) => match[1]?.trim() ?? "");
    expect(claims.length).toBeGreaterThanOrEqual(15);
    expect(claims.filter((claim) => claim.length < 10)).toEqual([]);
    expect(new Set(claims).size).toBe(claims.length);
  });

  it.each(COMPILERS)(
    "is refused by %s, and proper use is not",
    async (compiler) => {
      expect(await compile(compiler, root)).toEqual([]);
    },
    COMPILES_WITHIN_MS,
  );

  it.each(COMPILERS)(
    "is noticed by %s to compile in at least five places once every term has a token",
    async (compiler) => {
      const errors = await compile(compiler, patched);
      const unused = errors.filter((line) => line.includes("test/types/misuse.ts") && line.includes("TS2578"));
      expect(unused.length).toBeGreaterThanOrEqual(5);
    },
    COMPILES_WITHIN_MS,
  );
});
