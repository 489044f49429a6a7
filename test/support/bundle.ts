// src, joined for processes that a test starts: Node 20 reads no TypeScript. What runs is what is being tested, built or not, and without the defence that
// scripts/mutants.mjs or scripts/defences.mjs takes out.
import { fileURLToPath } from "node:url";
import { build, type OutputOptions } from "rolldown";
import { sqlText } from "../../scripts/sql-text.mjs";
import { withoutDefence } from "../../scripts/without-defence.mjs";

export const root: string = fileURLToPath(new URL("../..", import.meta.url));

/** Joins `input`, by paths in the repository or absolute ones, into files of ES modules. */
export async function bundle(input: string | Readonly<Record<string, string>>, output: OutputOptions): Promise<void> {
  await build({
    cwd: root,
    input: typeof input === "string" ? input : { ...input },
    platform: "node",
    logLevel: "warn",
    plugins: [withoutDefence(), sqlText],
    output: { format: "esm", ...output },
  });
}
