// An example as a process of its own, until it ends by itself or has said enough.
import { spawn } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** As a user runs it: the file as it is, on this Node, with the build of the package. */
export async function runExample(
  example: string,
  options: { readonly env?: NodeJS.ProcessEnv; readonly stopAt?: RegExp; readonly node?: readonly string[] } = {},
): Promise<{ readonly code: number | null; readonly lines: readonly string[]; readonly trouble: string }> {
  const child = spawn(process.execPath, [...(options.node ?? []), path.join(root, "examples", example, "main.mjs")], {
    env: { ...process.env, ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  let trouble = "";
  let told = false;
  child.stderr.setEncoding("utf8").on("data", (text: string) => (trouble += text));
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
    if (told || options.stopAt?.test(said) !== true) return;
    told = true;
    child.kill("SIGTERM");
  });
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  return { code, lines: said.split("\n").filter((line) => line !== "" && !line.startsWith("conclave: ")), trouble };
}
