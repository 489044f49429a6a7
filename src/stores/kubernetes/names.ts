// Names of elections as names of Leases. Kubernetes allows what RFC 1123 allows of a subdomain: small letters, digits, - and ., up to 253 signs, a letter or digit at each end
// of a part. A name that is one stays as it is, so that a Go candidate and a person with kubectl find it. Any other becomes
//
//   what can be read of it, up to 60 signs, then .x- and the first 32 hexadecimal digits of its SHA-256
//
// and so does a name that ends as such a name ends, so that no two names share a Lease. The name itself stands in the annotation conclave/name.
import { ConclaveError } from "../../base/errors.ts";
import { show } from "../../base/show.ts";
import { flawOf } from "../../base/text.ts";
import { sha256 } from "../../clients/sha256.ts";
import type { Name } from "../contract.ts";

const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const MAPPED = /\.x-[0-9a-f]{32}$/;
const LONGEST = 253;
const READABLE = 60;

export function leaseNameOf(name: Name): string {
  const flaw = flawOf(name);
  if (flaw !== undefined)
    throw new ConclaveError("CONFIG_INVALID", `kubernetes: ${show(name)} cannot be kept: ${flaw}`);
  if (name.length <= LONGEST && SUBDOMAIN.test(name) && !MAPPED.test(name)) return name;
  const readable = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, READABLE)
    .replaceAll(/^-+|-+$/g, "");
  const digest = sha256(name).digest("hex").slice(0, 32);
  return `${readable === "" ? "name" : readable}.x-${digest}`;
}

/** The label by which the Leases of one session are found: labels have at most 63 signs, and not every sign. */
export function labelOfSession(session: string): string {
  if (labelled?.session !== session) labelled = { session, label: sha256(session).digest("hex").slice(0, 40) };
  return labelled.label;
}

/** The last label: a process mostly has one session, whose label stands in every grant. */
let labelled: { readonly session: string; readonly label: string } | undefined;
