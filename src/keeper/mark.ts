// The mark of this process: a text in its environment, which everything that it starts inherits. By the mark a keeper finds what an app that has died has left
// running. Set once, and never taken back: a child of an earlier candidate may act as well as one of the present. What was started before the mark was set,
// or with an environment of its own, does not have it; the keeper knows such a process only if it has seen it below the app (kin.ts).
import { processWide } from "../base/process-wide.ts";

/** The variable that holds the marks, one after the other: those of `conclave run` (supervisor/orphans.ts), and those of apps. */
export const MARKS = "CONCLAVE_MARKS";

/** Of the form ELECTION:TOKEN:NONCE, as those of `conclave run`; with no token nobody takes it for that of an earlier term. */
export function markThisProcess(): string {
  return processWide("app-mark.1", () => {
    const { randomBytes } = process.getBuiltinModule("node:crypto"); // at first use: most programs have no keeper
    const mark = `app:-:${randomBytes(8).toString("hex")}`;
    process.env[MARKS] = [process.env[MARKS], mark].filter(Boolean).join(" ");
    return mark;
  });
}

/** This process's environment for its keeper: not with its own mark, or the keeper would wait for itself; nor with what is meant for the app alone. */
export function keeperEnvironment(mark: string): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _options, NODE_V8_COVERAGE: _coverage, ...env } = process.env;
  const others = (env[MARKS] ?? "").split(" ").filter((each) => each !== mark);
  if (others.join("") === "") delete env[MARKS];
  else env[MARKS] = others.join(" ");
  // In Electron `process.execPath` is the app, unless told that it is Node.
  return process.versions["electron"] === undefined ? env : { ...env, ELECTRON_RUN_AS_NODE: "1" };
}
