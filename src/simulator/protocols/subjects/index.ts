// All subjects that can be simulated and hunted by name. A new one is its folder and one line here.
import type { Invariant } from "../invariants/invariant.ts";
import type { AnySubject } from "../subject.ts";
import { bully } from "./bully/subject.ts";
import { masterLease } from "./master-lease/subject.ts";
import { raftElection } from "./raft-election/subject.ts";
import { changRoberts, lelann } from "./ring/subject.ts";
import { toyLog } from "./toy-log/subject.ts";
import { zab } from "./zab/subject.ts";

/** Every protocol that is hunted. */
export const SUBJECTS: readonly AnySubject[] = [bully, changRoberts, lelann, raftElection, zab, masterLease, toyLog];

/** Every invariant of any subject, once. */
export const INVARIANTS: readonly Invariant[] = [...new Set(SUBJECTS.flatMap(({ invariants }) => invariants))];

/** Returns the subject of that protocol; throws a RangeError that lists the names if there is none. */
export function subjectNamed(name: string): AnySubject {
  const subject = SUBJECTS.find(({ node }) => node.name === name);
  if (subject === undefined)
    throw new RangeError(`there is no protocol ${name}: ${SUBJECTS.map(({ node }) => node.name).join(", ")}`);
  return subject;
}
