// Warnings in the command line's own voice. Node would print a process id, a class name and advice for programmers; and that its SQLite is new, which
// is no news to somebody who asks who leads.

export function speakWarnings(): void {
  if (process.env["NODE_NO_WARNINGS"] === "1" || process.listenerCount("warning") === 0) return;
  process.removeAllListeners("warning");
  process.on("warning", ({ name, message }) => {
    if (name === "ExperimentalWarning" && message.startsWith("SQLite")) return;
    process.stderr.write(`conclave: warning: ${message.trim().replaceAll(/\s*\n\s*/g, " ")}\n`);
  });
}
