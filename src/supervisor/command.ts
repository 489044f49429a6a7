// Whether a command can be executed, before anybody campaigns for it: as `env` and the shell find it.
import { accessSync, constants, statSync } from "node:fs";
import path from "node:path";

export type Found = "executable" | "not-executable" | "not-found";

export function findCommand(command: string, searchPath: string | undefined = process.env["PATH"]): Found {
  if (command.includes("/")) return inspect(command);
  const found = (searchPath ?? "").split(path.delimiter).map((folder) => inspect(path.join(folder || ".", command)));
  return found.find((each) => each === "executable") ?? found.find((each) => each === "not-executable") ?? "not-found";
}

function inspect(file: string): Found {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return "not-found";
  try {
    accessSync(file, constants.X_OK);
    return found.isFile() ? "executable" : "not-executable";
  } catch {
    return "not-executable";
  }
}
