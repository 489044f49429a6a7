// etcd's version numbers. A release candidate counts as older than its release.

type Parts = readonly [major: number, minor: number, patch: number, isRelease: number];

function partsOf(version: string): Parts {
  const match = /^v?(\d+)\.(\d+)\.(\d+)(-.+)?/.exec(version);
  // A version that cannot be read counts as older than any other.
  if (match === null) return [0, 0, 0, 0];
  return [Number(match[1]), Number(match[2]), Number(match[3]), match[4] === undefined ? 1 : 0];
}

export function atLeast(version: string, least: string): boolean {
  const [a, b] = [partsOf(version), partsOf(least)];
  for (let index = 0; index < a.length; index++) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}

export function older(a: string, b: string): string {
  return atLeast(a, b) ? b : a;
}
