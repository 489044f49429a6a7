// `conclave sim exercise 5`: a STONITH mechanism for three nodes in a cloud, with its decision flow, played against an API that works, fails, hangs, lies, and is used too late.
import { CLOUD_CASES, type CloudCase, type CloudPlay, formatEvent, playCloud } from "../simulator/index.ts";
import { fit } from "./help-text.ts";

const FLOW = `
  a term is granted
        |
        v
  read the record: who has acted?  ----------------- nobody ----------------------------+
        | a node that nobody has proved to have stopped                                 |
        v                                                                               |
  its process has noted that its work ended, in time?  ------------ yes ----------------+
        | no                                                                            |
        v                                                                               |
  own node? too many off? too many shots? store without quorum?  -- yes: no takeover,   |
        | no                                                        a human decides     |
        v                                                                               |
  wait for a time that is drawn                                                         |
        v                                                                               |
  write the intent, with this term as one that may shoot                                |
        v                                                                               |
  ban the node: from here on the store grants it nothing                                |
        v                                                                               |
  look once more: term held, intent open, ban standing?  ---------- no: no shot         |
        | yes                                                                           |
        v                                                                               |
  call the cloud: stop the machine (never: restart it)                                  |
        v                                                                               |
  ASK the cloud: is it stopped?  -- no, or no answer: no takeover; try again, then let  |
        | yes                       another node try, until a human confirms            |
        v                                                                               v
  the node is off: the takeover is permitted  ------------->  write who acts, then begin to work
        v
  lift the ban only when every term that may shoot has said that its agents are gone
`;

const TITLES: Readonly<Record<CloudCase, string>> = {
  works: "The API works.",
  fails: "The API cannot be reached: no takeover, until a human has gone to the machine and confirms.",
  hangs:
    "The API hangs: its callers are killed in time, and the outcome is unknown. No takeover until a human confirms.",
  lies: "The API says 'done' and does nothing: the question afterwards shows it. No takeover. Here a human pulls the plug, and then the API says that the machine is off.",
  late: "The first shooter is paused between its decision and its shot. Another takes over; the machine is started again; and then the late shot comes. It hits a machine that is still banned, and so does not lead.",
};

export function stonithExercise(seed: number): { readonly text: string; readonly json: unknown } {
  const plays = CLOUD_CASES.map((what) => playCloud(what, seed));
  const text = [
    fit(
      "Three nodes work one after the other on something that checks no token. Their machines are stopped by the API of a cloud. At 3000 ms the machine of the leader is paused, together with its work, which may go on at any moment. The other two nodes cannot tell that from a crash. When may one of them begin?",
    ),
    FLOW,
    ...plays.flatMap(story),
    ...table(plays),
    "",
    fit(
      "(a) The API is called by an agent, a process of its own, which is killed before the term of its caller ends. (b) A fault only costs time: a shot that failed, or whose outcome is unknown, permits nothing. (c) A shot makes no node the leader, and never hits the leader. The store alone decides which node leads, and while a shot may still come, the store bans its target. So STONITH cannot create a split-brain. What remains is a command that the cloud itself carries out after its caller is gone.",
    ),
    "conclave sim --hunt stonith looks in random worlds for a case in which this is not true.",
    "",
  ].join("\n");
  return { text, json: { exercise: 5, seed, plays: plays.map(({ events: _events, ...numbers }) => numbers) } };
}

function story({ what, events }: CloudPlay): readonly string[] {
  const shown = events.filter(({ is }) => is !== "fault" && is !== "calm");
  return [fit(TITLES[what]), "", ...shown.map((event) => formatEvent(event) ?? ""), ""];
}

function table(plays: readonly CloudPlay[]): readonly string[] {
  const row = (cells: readonly (string | number)[]): string =>
    cells.map((cell, place) => (place === 0 ? String(cell).padEnd(12) : String(cell).padStart(16))).join("");
  const seconds = (ms: number | undefined): string => (ms === undefined ? "never" : `${(ms / 1000).toFixed(1)} s`);
  return [
    row(["the API", "takeover after", "permitted by", "shots", "lies", "late shots", "two at work"]),
    ...plays.map(({ what, takeoverMs, permittedBy, shots, lies, lateShots, violation }) =>
      row([what, seconds(takeoverMs), permittedBy ?? "-", shots, lies, lateShots, violation?.invariant ?? "never"]),
    ),
  ];
}
