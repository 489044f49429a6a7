// How far a drill has come: one line on a terminal that is drawn over, else a line at every tenth.
const WIDTH = 30;

export interface Progress {
  step(done: number, what: string): void;
  end(): void;
}

export function progressOf(total: number, isQuiet: boolean, stream: NodeJS.WriteStream = process.stderr): Progress {
  if (stream.isTTY) return bar(total, stream);
  let told = 0;
  return {
    step(done, what) {
      const tenth = Math.floor((10 * done) / total);
      if (tenth === told || isQuiet) return;
      told = tenth;
      stream.write(`drill ${done}/${total} (${what})\n`);
    },
    end: () => {},
  };
}

function bar(total: number, stream: NodeJS.WriteStream): Progress {
  return {
    step(done, what) {
      const full = Math.round((WIDTH * done) / total);
      stream.write(`\r[${"=".repeat(full)}${" ".repeat(WIDTH - full)}] ${done}/${total} ${what}\u001B[K`);
    },
    end: () => void stream.write("\r\u001B[K"),
  };
}
