// Times as Kubernetes writes them.

/** Many requests of one millisecond have one time. */
let lastMs = Number.NaN;
let lastText = "";

/** The format is that of Go's MicroTime: UTC, six digits behind the point. */
export function microTime(at: Date): string {
  const ms = at.getTime();
  if (ms === lastMs) return lastText;
  lastText = `${at.toISOString().slice(0, -1)}000Z`;
  lastMs = ms;
  return lastText;
}
