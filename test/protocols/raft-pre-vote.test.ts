// Raft's election, rule by rule: PreVote, CheckQuorum and the loyalty that goes with it.
import { describe, expect, it } from "vitest";
import {
  append,
  appended,
  candidate,
  follower,
  leader,
  preVote,
  preVoted,
  sends,
  setsElectionTimer,
  vote,
  voted,
  writes,
} from "./raft-node.ts";

describe("a pre-vote (thesis, section 9.6)", () => {
  const settings = { preVote: true, checkQuorum: true };

  it("is asked for in the next term, which does not begin", () => {
    const node = follower({ nodes: 3, settings, image: { term: 6, vote: 3 } });
    const effects = node.expire("election");
    expect(sends(effects)).toEqual([2, 3].map((to) => ({ to, ...preVote(7) })));
    expect(writes(effects)).toEqual([]);
    expect(node.state).toMatchObject({ role: "pre-candidate", term: 6, vote: 3 });
  });

  it("is answered in the asker's term, and changes nothing: no term, no vote, no write, no timer", () => {
    const node = follower({ settings, image: { term: 3, vote: 4 } });
    const before = structuredClone(node.state);
    expect(node.receive(2, preVote(9))).toEqual([{ type: "send", to: 2, message: preVoted(9) }]);
    expect(node.receive(5, preVote(9))).toEqual([{ type: "send", to: 5, message: preVoted(9) }]);
    expect(node.state).toEqual(before);
  });

  it("of an older term is refused and not dropped, with the newer term", () => {
    const node = follower({ settings, image: { term: 3, vote: 0 } });
    expect(sends(node.receive(2, preVote(2)))).toEqual([{ to: 2, ...preVoted(3, false) }]);
  });

  it("of the current term is like a vote", () => {
    expect(sends(follower({ settings, image: { term: 3, vote: 4 } }).receive(2, preVote(3)))).toEqual([
      { to: 2, ...preVoted(3, false) },
    ]);
    expect(sends(follower({ settings, image: { term: 3, vote: 0 } }).receive(2, preVote(3)))).toEqual([
      { to: 2, ...preVoted(3) },
    ]);
  });

  it("is refused to a worse log, whatever its term", () => {
    const node = follower({ settings: { ...settings, logs: "attribute" }, attribute: 2 });
    expect(sends(node.receive(2, preVote(9)))).toEqual([{ to: 2, ...preVoted(0, false) }]);
  });

  it("is refused while a leader is heard", () => {
    const node = follower({ settings, image: { term: 3, vote: 0 } });
    node.receive(3, append(3));
    node.now = 149;
    expect(sends(node.receive(2, preVote(4)))).toEqual([{ to: 2, ...preVoted(3, false) }]);
    node.now = 150;
    expect(sends(node.receive(2, preVote(4)))).toEqual([{ to: 2, ...preVoted(4) }]);
  });

  it("is answered by candidates and leaders too", () => {
    expect(sends(candidate().receive(2, preVote(2)))).toEqual([{ to: 2, ...preVoted(2) }]);
    expect(sends(leader().receive(2, preVote(2)))).toEqual([{ to: 2, ...preVoted(1, false) }]);
  });

  it("granted raises nobody's term; refused raises the asker's", () => {
    const granted = follower({ settings, image: { term: 3, vote: 0 } });
    granted.receive(2, preVoted(9));
    expect(granted.state.term).toBe(3);
    const refused = follower({ settings, image: { term: 3, vote: 0 } });
    refused.expire("election");
    refused.receive(2, preVoted(9, false));
    expect(refused.state).toMatchObject({ role: "follower", term: 9 });
  });

  it("by a majority makes a candidate; those of an earlier round, and votes, do not count", () => {
    const node = follower({ settings, image: { term: 3, vote: 0 } });
    node.expire("election");
    for (const peer of [2, 3, 4]) {
      node.receive(peer, preVoted(3));
      node.receive(peer, voted(3));
      node.receive(peer, preVoted(5));
    }
    expect(node.state.role).toBe("pre-candidate");
    node.receive(2, preVoted(4));
    node.receive(2, preVoted(4));
    expect(node.state.role).toBe("pre-candidate");
    node.receive(3, preVoted(4));
    expect(node.state).toMatchObject({ role: "candidate", term: 4 });
  });

  it("comes before every campaign, also after one that failed", () => {
    const node = follower({ settings });
    node.expire("election");
    for (const peer of [2, 3]) node.receive(peer, preVoted(1));
    expect(node.state.role).toBe("candidate");
    node.expire("election");
    expect(node.state).toMatchObject({ role: "pre-candidate", term: 1 });
  });

  it("does not keep its asker from voting for another, and then it waits", () => {
    const node = follower({ settings });
    node.expire("election");
    node.receive(2, vote(1));
    expect(node.state).toMatchObject({ role: "follower", term: 1, vote: 2 });
  });
});

describe("with CheckQuorum (thesis, sections 4.2.3 and 6.2)", () => {
  const settings = { preVote: false, checkQuorum: true };

  it("a leader whom no majority answers within an election timeout steps down, and keeps its term", () => {
    const node = leader({ settings });
    node.receive(2, appended(1));
    const effects = node.expire("check-quorum");
    expect(node.state).toMatchObject({ role: "follower", leader: 0, term: 1, vote: 1 });
    expect(setsElectionTimer(effects)).toBe(true);
  });

  it("counts what came since the last look, and no answer of another term", () => {
    const node = leader({ settings });
    for (const peer of [2, 3]) node.receive(peer, appended(1));
    node.expire("check-quorum");
    expect(node.state.role).toBe("leader");
    for (const peer of [2, 3]) node.receive(peer, appended(0));
    node.expire("check-quorum");
    expect(node.state.role).toBe("follower");
  });

  it("a node that hears a leader ignores requests for votes, and its term, for the least election timeout", () => {
    const node = follower({ settings, image: { term: 3, vote: 0 } });
    node.receive(3, append(3));
    node.now = 149;
    expect(node.receive(2, vote(9))).toEqual([]);
    expect(node.state.term).toBe(3);
    node.now = 150;
    expect(writes(node.receive(2, vote(9)))).toEqual([{ term: 9, vote: 2 }]);
  });

  it("a leader ignores them too", () => {
    const node = leader({ settings });
    expect(node.receive(2, vote(9))).toEqual([]);
  });

  it("but not those whom the leader sent", () => {
    const node = follower({ settings, image: { term: 3, vote: 0 } });
    node.receive(3, append(3));
    expect(writes(node.receive(2, vote(4, true)))).toEqual([{ term: 4, vote: 2 }]);
  });

  it("without it, nobody ignores a vote", () => {
    const node = follower({ image: { term: 3, vote: 0 } });
    node.receive(3, append(3));
    expect(writes(node.receive(2, vote(9)))).toEqual([{ term: 9, vote: 2 }]);
  });
});
