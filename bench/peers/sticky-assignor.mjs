// @ts-check
// A sticky assignor as Kafka's consumers have it, from its published description (KIP-54): keep what is valid, give the rest to whoever has the least, then move partitions from the one with the most
// to the one with the least until no two differ by more than one. Written anew, straightforwardly, for one topic and equal members; to compare movement and balance with, not to ship.

/** @param {Int32Array} owners the place of the present owner, or -1 @param {readonly number[]} members places of those that are there @returns {Int32Array} */
export function stickyAssign(owners, members) {
  const wanted = Int32Array.from(owners);
  /** @type {Map<number, number[]>} */
  const has = new Map(members.map((member) => [member, []]));
  const orphans = [];
  for (let partition = 0; partition < wanted.length; partition++) {
    const list = has.get(wanted[partition] ?? -1);
    if (list === undefined) orphans.push(partition);
    else list.push(partition);
  }
  const sorted = [...members].toSorted((a, b) => size(has, a) - size(has, b) || a - b);
  for (const partition of orphans) {
    const least = /** @type {number} */ (sorted[0]);
    has.get(least)?.push(partition);
    wanted[partition] = least;
    sinkFirst(sorted, has);
  }
  level(sorted, has, wanted);
  return wanted;
}

/** @param {Map<number, number[]>} has @param {number} member */
function size(has, member) {
  return has.get(member)?.length ?? 0;
}

/** @param {number[]} sorted @param {Map<number, number[]>} has */
function sinkFirst(sorted, has) {
  for (let place = 0; place + 1 < sorted.length; place++) {
    const [a, b] = [/** @type {number} */ (sorted[place]), /** @type {number} */ (sorted[place + 1])];
    if (size(has, a) <= size(has, b)) return;
    [sorted[place], sorted[place + 1]] = [b, a];
  }
}

/** @param {number[]} sorted @param {Map<number, number[]>} has @param {Int32Array} wanted */
function level(sorted, has, wanted) {
  for (;;) {
    sorted.sort((a, b) => size(has, a) - size(has, b) || a - b);
    const [least, most] = [/** @type {number} */ (sorted[0]), /** @type {number} */ (sorted.at(-1))];
    if (size(has, most) - size(has, least) <= 1) return;
    const partition = /** @type {number} */ (has.get(most)?.pop());
    has.get(least)?.push(partition);
    wanted[partition] = least;
  }
}
