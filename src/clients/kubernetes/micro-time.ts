// Times as Kubernetes writes them.

/** As Go's MicroTime is written: UTC, six digits behind the point. */
export function microTime(at: Date): string {
  return `${at.toISOString().slice(0, -1)}000Z`;
}
