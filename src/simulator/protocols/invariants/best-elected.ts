// The definition of the lecture: the elected process is the non-faulty process with the best attribute, or there is none. This is judged at rest, when every member that is up can talk to every other:
// each of them follows the best of them or nobody, and none but the best leads. Of equal attributes the greater id wins.
import type { NodeId } from "../../../protocols/node.ts";
import type { Invariant, WorldView } from "./invariant.ts";

export const bestElected: Invariant = {
  name: "best-elected",
  remember: () => ({}),
  atRest(_memory, view) {
    const up = view.members.filter(({ isUp, isPaused }) => isUp && !isPaused);
    if (up.length === 0) return undefined;
    if (up.some(({ id }) => up.some((other) => !view.reaches(id, other.id)))) return undefined;
    const best = bestOf(
      view,
      up.map(({ id }) => id),
    );
    const wrong = up.find(
      ({ id, leader, role }) => (leader !== 0 && leader !== best) || (role === "leader" && id !== best),
    );
    if (wrong === undefined) return undefined;
    const belief = wrong.role === "leader" ? "leads" : `follows ${wrong.leader}`;
    return `${wrong.id} ${belief}, but the best member that is up is ${best}`;
  },
};

function bestOf(view: WorldView, ids: readonly NodeId[]): NodeId {
  const isBetter = (a: NodeId, b: NodeId): boolean =>
    view.attributeOf(a) !== view.attributeOf(b) ? view.attributeOf(a) > view.attributeOf(b) : a > b;
  return ids.reduce((best, id) => (isBetter(id, best) ? id : best));
}
