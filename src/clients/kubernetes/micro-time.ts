// Times as Kubernetes writes them.

/** The format is that of Go's MicroTime: UTC, six digits behind the point. */
export function microTime(at: Date): string {
  return `${at.toISOString().slice(0, -1)}000Z`;
}
