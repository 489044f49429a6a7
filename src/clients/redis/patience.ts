// The time limit for a connection that is being made. The clients of npm have a timeout for it, which is over when the server has accepted; but then they send their credentials, and wait for the answer
// without end.

/** Settles as `connecting` does, unless that takes longer than `withinMs` or `closed` comes first: then `giveUp` ends it, and this promise rejects. */
export function connectedWithin<A>(
  connecting: Promise<A>,
  withinMs: number,
  closed: AbortSignal | undefined,
  giveUp: () => void,
): Promise<A> {
  return new Promise((resolve, reject) => {
    const leave = (why: Error): void => {
      over();
      giveUp();
      reject(why);
    };
    const leaveClosed = (): void => leave(closed?.reason as Error);
    const timer = setTimeout(() => leave(new Error(`no answer within ${withinMs} ms`)), withinMs);
    const over = (): void => {
      clearTimeout(timer);
      closed?.removeEventListener("abort", leaveClosed);
    };
    closed?.addEventListener("abort", leaveClosed, { once: true });
    connecting.then(resolve, reject).finally(over);
  });
}
