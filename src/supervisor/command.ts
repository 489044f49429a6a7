// Whether a command can be executed, found as `env` and the shell find it. This is asked before anybody campaigns for the command.
import { accessSync, constants, statSync } from "node:fs";
import path from "node:path";

/** What became of a search for a command. */
export type CommandFound = "executable" | "not-executable" | "not-found";

/** Where shells and `execvp` look if PATH is not set. */
const USUAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Looks for a command as a shell would, without running it. */
export function findCommand(command: string, searchPath: string | undefined = process.env["PATH"]): CommandFound {
  if (command === "") return "not-found";
  if (command.includes("/")) return inspect(command, ["ENOENT"]);
  const folders = (searchPath ?? USUAL_PATH).split(path.delimiter);
  const found = folders.map((folder) => inspect(path.join(folder || ".", command), ["ENOENT", "ENOTDIR"]));
  return found.find((each) => each === "executable") ?? found.find((each) => each === "not-executable") ?? "not-found";
}

function inspect(file: string, missing: readonly string[]): CommandFound {
  try {
    const found = statSync(file);
    accessSync(file, constants.X_OK);
    return found.isFile() ? "executable" : "not-executable";
  } catch (error) {
    return missing.includes((error as NodeJS.ErrnoException).code ?? "") ? "not-found" : "not-executable";
  }
}
