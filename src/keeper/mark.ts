// The mark of this process: a text in its environment, which everything that it starts inherits. By the mark a keeper finds what an app that has died has left
// running. The mark is set once, and never taken back: a child of an earlier candidate may act as well as one of the present. A process that was
// started before the mark was set,
// or with an environment of its own, does not have it; the keeper knows such a process only if it has seen it below the app (kin.ts).
import { processWide } from "../base/process-wide.ts";

/** The variable that holds the marks, one after the other: those of `conclave run` (supervisor/orphans.ts), and those of apps. */
export const MARKS = "CONCLAVE_MARKS";

/** Has the form ELECTION:TOKEN:NONCE, as the marks of `conclave run` have. It has no token, so nobody takes it for the mark of an earlier term. */
export function markThisProcess(): string {
  return processWide("app-mark.1", () => {
    const { randomBytes } = process.getBuiltinModule("node:crypto"); // loaded at first use: most programs have no keeper
    const mark = `app:-:${randomBytes(8).toString("hex")}`;
    process.env[MARKS] = [process.env[MARKS], mark].filter(Boolean).join(" ");
    return mark;
  });
}

/** The environment for the keeper: without this process's own mark, or the keeper would wait for itself, and without what is meant for the app alone. */
export function keeperEnvironment(mark: string): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _options, NODE_V8_COVERAGE: _coverage, ...env } = process.env;
  const others = (env[MARKS] ?? "").split(" ").filter((each) => each !== mark);
  if (others.join("") === "") delete env[MARKS];
  else env[MARKS] = others.join(" ");
  // In Electron `process.execPath` is the app, unless this variable says that it is to run as Node.
  return process.versions["electron"] === undefined ? env : { ...env, ELECTRON_RUN_AS_NODE: "1" };
}
