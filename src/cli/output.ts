// What becomes of a command when nobody takes what it prints. Node would end the process with a stack trace, in the middle of what it does.
//   - The reader has gone (`| head`): the rest is dropped. A command that goes on for long, and whose output is all that it is for, ends itself.
//   - Anything else, such as a full disk behind `> FILE`: one line on stderr, and the exit code of a command that could not do its work.
//   - Nobody can be told of an error of stderr itself.
// The streams are not touched before the command reads them: reading process.stderr or process.stdout makes a pipe non-blocking for every process that has it open, and `conclave run` shares both.
import { UNKNOWN } from "./command.ts";

let isLost = false;

/** Must be called before the streams are first read. */
export function bearLostReaders(): void {
  whenRead("stderr", () => {});
  whenRead("stdout", (error) => {
    if (error.code === "EPIPE" || isLost) return;
    isLost = true;
    process.exitCode = UNKNOWN;
    process.stderr.write(`conclave: stdout cannot be written to: ${error.message}\n`);
  });
}

/** The exit code, unless what the command has printed was lost. */
export function exitCodeOf(code: number): number {
  return isLost ? UNKNOWN : code;
}

function whenRead(name: "stdout" | "stderr", listener: (error: NodeJS.ErrnoException) => void): void {
  const usual = Object.getOwnPropertyDescriptor(process, name);
  const open = usual?.get?.bind(process) as (() => NodeJS.WriteStream) | undefined;
  if (usual?.configurable !== true || open === undefined) return;
  Object.defineProperty(process, name, {
    ...usual,
    get() {
      Object.defineProperty(process, name, usual);
      return open().on("error", listener);
    },
  });
}
