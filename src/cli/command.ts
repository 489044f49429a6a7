// What a command is to the table in main.ts, and the exit codes that all commands share. If there is no answer, that is not "no": it has a code of
// its own, so that a script can tell "nobody leads" from "nobody knows".

/** It is true, or done. */
export const YES = 0;
/** It is not true: nobody leads, the move was refused, or the demo showed something that was not true. */
export const NO = 1;
/** The command line was not understood, or asks for something impossible. Nothing was tried. */
export const NOT_UNDERSTOOD = 2;
/** There is no answer, or nothing was done: the store cannot be reached, a file cannot be read. */
export const UNKNOWN = 3;
/** SIGINT, with the code that shells use. */
export const INTERRUPTED = 130;

export interface Context {
  /** The URL of the command line's own entry file: programs that a command starts lie beside it. */
  readonly home: string;
}

export interface CommandModule {
  readonly help: string;
  run(args: readonly string[], context: Context): Promise<number>;
}

/** A command line that cannot be understood: answered in one line that says where help is. */
export class UsageError extends Error {}
