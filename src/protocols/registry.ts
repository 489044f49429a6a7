// All protocols that can be simulated. A new one is its folder and one line here.
import { bully } from "./bully/bully.ts";
import { masterLease } from "./master-lease/master-lease.ts";
import type { Protocol } from "./protocol.ts";
import { changRoberts } from "./ring/chang-roberts.ts";
import { lelann } from "./ring/lelann.ts";
import { raftElection } from "./raft/raft.ts";
import { zab } from "./zab/zab.ts";

export const PROTOCOLS: readonly Protocol[] = [bully, changRoberts, lelann, raftElection, zab, masterLease];

export function protocolNamed(name: string): Protocol {
  const protocol = PROTOCOLS.find((known) => known.name === name);
  if (protocol === undefined)
    throw new RangeError(`there is no protocol ${name}: ${PROTOCOLS.map((known) => known.name).join(", ")}`);
  return protocol;
}
