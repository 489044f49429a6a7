// Invitations as text, for stores that pass them on through a record or a notification. A text that is no invitation is none: a hint may be lost anyway.
import { asBid, type Invitation } from "./contract.ts";

export function writeInvitation({ token, to, priority }: Invitation): string {
  const { domain, value, bid } = token;
  return JSON.stringify({ domain, value: `${value}`, bid, to, priority });
}

export function readInvitation(text: string): Invitation | undefined {
  try {
    const { domain, value, bid, to, priority } = JSON.parse(text) as { readonly [field: string]: unknown };
    const areTexts = [domain, value, bid, to].every((each) => typeof each === "string");
    if (!areTexts || !(priority === undefined || typeof priority === "number")) return undefined;
    const token = { domain: String(domain), value: BigInt(String(value)), bid: asBid(String(bid)) };
    return { token, to: String(to), priority };
  } catch {
    return undefined;
  }
}
