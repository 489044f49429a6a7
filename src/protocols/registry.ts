// All protocols that can be simulated. A new one is its folder and one line here.
import { bully } from "./bully/bully.ts";
import type { Protocol } from "./protocol.ts";

export const PROTOCOLS: readonly Protocol[] = [bully];

export function protocolNamed(name: string): Protocol {
  const protocol = PROTOCOLS.find((known) => known.name === name);
  if (protocol === undefined)
    throw new RangeError(`there is no protocol ${name}: ${PROTOCOLS.map((known) => known.name).join(", ")}`);
  return protocol;
}
