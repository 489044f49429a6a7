// LeLann (1977): every node's token travels once around. When a node's own token is back, it has seen all others, and the best of them leads.
//
// ASSUMES  The same as Chang–Roberts (chang-roberts.ts), and links that keep the order: a token that overtook another would come home before every node has been seen.
// PROMISES  The same as Chang–Roberts, with one exception: a node that crashes and is back within a round may let a lesser one be elected, when the better one's token died with it. The better one hears
// that, and begins a new round.
// DOES NOT PROMISE  The same as Chang–Roberts.
//
// COST  N² ELECTION, however many nodes begin: each of N tokens makes N hops. The N messages ELECTED are not in the paper: here they say that the winner knows, and that every node had the same list.
//
//   token of       not yet participant              participant
//   somebody else  the own token, then pass it on   pass it on, once
//   itself                                          everybody has been seen: if nobody was better, ELECTED
import { type RingNode, ringNode } from "./ring.ts";
import { launch, passToken } from "./round.ts";
import { type ElectionToken, isBetter, type RingEffects, type RingState } from "./state.ts";

function takeToken(state: RingState, token: ElectionToken, effects: RingEffects): void {
  if (!state.isParticipant) launch(state, effects);
  if (state.seen.has(token.id)) return effects.explain("this token has been here: swallowed");
  state.seen.add(token.id);
  if (isBetter(token, state.best)) state.best = token;
  passToken(state, token, effects);
}

/** The node of LeLann (1977): in a ring, every token goes all the way round, and the best attribute leads. */
export const lelann: RingNode = ringNode({
  name: "lelann",
  summary: "the best attribute leads; in a ring, everybody's token goes around (LeLann 1977)",
  takeToken,
});
