// The signal of a process that was asked to stop.
let shared: AbortSignal | undefined;

/** Aborts on the first SIGTERM or SIGINT; a second one kills as usual, because nobody listens any more. One signal per process. */
export function shutdownSignal(): AbortSignal {
  if (shared !== undefined) return shared;
  const controller = new AbortController();
  const names = ["SIGTERM", "SIGINT"] as const;
  const stop = (name: NodeJS.Signals): void => {
    for (const each of names) process.removeListener(each, stop);
    controller.abort(new DOMException(`asked to stop by ${name}`, "AbortError"));
  };
  for (const each of names) process.on(each, stop);
  shared = controller.signal;
  return shared;
}
