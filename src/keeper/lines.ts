// Cuts a stream into lines. Text after the last line break is not a line yet.
import type { Readable } from "node:stream";

export function readLines(stream: Readable, hear: (line: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (text: string) => {
    const lines = `${rest}${text}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) hear(line);
  });
}
