// `conclave partitions status|drain|undrain|transfer|demo`: what operators see of a group and ask of it (docs/PARTITIONS.md). What status shows are hints. A wish is
// written under the lock of the group's registry; the controller carries it out when it can.
import { createCandidate, requireFenced, type Store } from "../index.ts";
import { drainMember, groupStatus, type GroupStatus, transferPartition } from "../partitions/admin.ts";
import { type Context, NO, NOT_UNDERSTOOD, UsageError, YES } from "./command.ts";
import { readCount, readFlags, refuseVerb } from "./flags.ts";
import { runPartitionsDemo } from "./partitions/demo.ts";
import { chooseStore, missingFile, STORE_HELP } from "./store.ts";
import { fit } from "./help-text.ts";

export const help: string = `usage: conclave partitions status GROUP [--leads] [--store URL] [--json]
       conclave partitions drain GROUP MEMBER
       conclave partitions undrain GROUP MEMBER
       conclave partitions transfer GROUP PARTITION [MEMBER]
       conclave partitions demo [--members N] [--partitions N] [--ttl DURATION]

  status    who is in the group, who controls it, how many partitions each leads, and which nobody
            leads; with --leads a line for each partition. This may be old when you read it.
  drain     everything that MEMBER leads moves to the others, each partition when its work has stopped;
            MEMBER gets no new partitions
  undrain   MEMBER may lead again
  transfer  MEMBER leads PARTITION while it is there; without MEMBER any may lead it again
  demo      real processes share partitions on a sqlite: store, or on the store of --store. One is killed,
            one is stopped for longer than its ttl and goes on, one is cut off from a store at one network
            address. Then the controller is stopped, and the next controller killed. The demo exits with 0
            only if by the notes of the processes no partition was led by two at once, and no partitions
            moved but those of a process that was gone

${STORE_HELP}
  --json        one JSON object; of status {"group", "partitions", "controller", "members", "unled",
                "revoked", "transfers"}, with --leads also "leads"

Exit codes: 0 done, or the wish is written; 1 there is no such group or member, or the demo has shown
what must not be; 2 not understood; 3 the store did not answer or cannot do it; 130 the demo was interrupted.
`;

const WITHIN_MS = 10_000;

const OPTIONS = {
  store: { type: "string" },
  json: { type: "boolean", default: false },
  leads: { type: "boolean", default: false },
  members: { type: "string" },
  partitions: { type: "string" },
  ttl: { type: "string" },
} as const;

export async function run(args: readonly string[], { home }: Context): Promise<number> {
  const { values, positionals } = readFlags({ args: [...args], options: OPTIONS, allowPositionals: true });
  const [what, group, ...rest] = positionals;
  refuseFlagsOfOthers(what, values);
  if (what === "demo") return await runPartitionsDemo(values, group, new URL("./partitions/member.js", home));
  if (what === undefined) {
    process.stderr.write(fit(help));
    return NOT_UNDERSTOOD;
  }
  if (group === undefined) throw new UsageError(usageOf(what));
  const act = actOf(what, rest);
  const store = await chooseStore(values.store);
  try {
    if (missingFile(store) !== undefined) return unknownGroup(group);
    return act === "status" ? await status(store, group, values) : await ask(store, group, act, values.json);
  } finally {
    await store.close();
  }
}

const FLAGS_OF: Readonly<Record<string, string>> = {
  members: "demo",
  partitions: "demo",
  ttl: "demo",
  leads: "status",
};

function refuseFlagsOfOthers(what: string | undefined, values: Readonly<Record<string, unknown>>): void {
  for (const [flag, verb] of Object.entries(FLAGS_OF))
    if (what !== undefined && what !== verb && values[flag] !== undefined && values[flag] !== false)
      throw new UsageError(`--${flag} goes with partitions ${verb}`);
}

type Wish =
  | { readonly drain: string; readonly isDraining: boolean }
  | { readonly partition: number; readonly to: string | undefined };

function actOf(what: string, rest: readonly string[]): "status" | Wish {
  const [first, second] = rest;
  if (what === "status" && rest.length === 0) return "status";
  if ((what === "drain" || what === "undrain") && rest.length === 1 && first !== undefined)
    return { drain: first, isDraining: what === "drain" };
  if (what === "transfer" && first !== undefined && rest.length <= 2)
    return { partition: readCount("PARTITION", first, 0), to: second };
  throw new UsageError(usageOf(what));
}

const VERBS: Readonly<Record<string, string>> = {
  status: "GROUP",
  drain: "GROUP MEMBER",
  undrain: "GROUP MEMBER",
  transfer: "GROUP PARTITION [MEMBER]",
  demo: "[--members N]",
};

/** How a verb is used, for a command line that leaves something out or says too much. */
function usageOf(what: string): string {
  const names = Object.hasOwn(VERBS, what) ? VERBS[what] : undefined;
  if (names === undefined) return refuseVerb(what, Object.keys(VERBS));
  return `it is used as: conclave partitions ${what} ${names}`;
}

async function status(
  store: Store,
  group: string,
  { json, leads }: { readonly json: boolean; readonly leads: boolean },
): Promise<number> {
  const seen = await groupStatus(store, group, { signal: AbortSignal.timeout(WITHIN_MS), sentAtMs: 0 });
  if (seen === undefined) return unknownGroup(group);
  process.stdout.write(json ? `${JSON.stringify(asJson(seen, leads))}\n` : say(seen, leads));
  return YES;
}

function unknownGroup(group: string): number {
  process.stderr.write(`conclave partitions: nobody has ever joined the group "${group}" here\n`);
  return NO;
}

const partitionsIn = ({ leads }: GroupStatus, state: string): readonly number[] =>
  leads.filter((lead) => lead.state === state).map(({ partition }) => partition);

function asJson(seen: GroupStatus, isWhole: boolean): object {
  const { group, partitions, controller, members, transfers, leads } = seen;
  return {
    group,
    partitions,
    controller: controller === undefined ? null : { id: controller.id, token: `${controller.token}` },
    members: members.map(({ weight, zone, ...member }) => ({ ...member, weight: weight ?? null, zone: zone ?? null })),
    unled: partitionsIn(seen, "unled"),
    revoked: partitionsIn(seen, "revoked"),
    transfers: Object.fromEntries(transfers),
    ...(isWhole
      ? { leads: leads.map((lead) => ({ ...lead, epoch: lead.epoch === undefined ? null : `${lead.epoch}` })) }
      : {}),
  };
}

function say(seen: GroupStatus, isWhole: boolean): string {
  const { group, partitions, controller, members, transfers, leads } = seen;
  const by = controller === undefined ? "nobody controls it" : `controlled by ${controller.id}`;
  const lines = [`"${group}": ${partitions} partitions, ${by}`];
  for (const { id, isThere, leads: has, revoked, isDraining, zone } of members) {
    const notes = [isThere ? `leads ${has}` : "is not there", ...(revoked > 0 ? [`stops ${revoked}`] : [])];
    if (isDraining) notes.push("drains");
    if (zone !== undefined) notes.push(`zone ${zone}`);
    lines.push(`  ${id}  ${notes.join(", ")}`);
  }
  const unled = partitionsIn(seen, "unled");
  const isLed = unled.length === 0 && partitions > 0;
  lines.push(isLed ? "every partition is led" : `nobody leads ${partitions > 0 ? shortened(unled) : "anything yet"}`);
  for (const [partition, to] of transfers) lines.push(`partition ${partition} is wished to be led by ${to}`);
  if (isWhole)
    for (const { partition, member, epoch, state } of leads)
      lines.push(`${partition}  ${member ?? "-"}  ${state}${epoch === undefined ? "" : `  epoch ${epoch}`}`);
  return `${lines.join("\n")}\n`;
}

function shortened(partitions: readonly number[]): string {
  const shown = partitions.slice(0, 20).join(", ");
  return partitions.length > 20 ? `${shown} and ${partitions.length - 20} more` : shown;
}

async function ask(store: Store, group: string, wish: Wish, isJson: boolean): Promise<number> {
  const call = { signal: AbortSignal.timeout(WITHIN_MS), sentAtMs: 0 };
  const seen = await groupStatus(store, group, call);
  if (seen === undefined) return unknownGroup(group);
  if ("partition" in wish && wish.partition >= seen.partitions)
    throw new UsageError(`there is no partition ${wish.partition}: they count from 0 to ${seen.partitions - 1}`);
  requireFenced(store);
  const candidate = createCandidate({ store, id: "conclave-partitions" });
  try {
    const isKnown =
      "drain" in wish
        ? await drainMember(candidate, group, wish.drain, wish.isDraining)
        : await transferPartition(candidate, group, wish.partition, wish.to);
    if (!isKnown) {
      const id = "drain" in wish ? wish.drain : wish.to;
      process.stderr.write(`conclave partitions: no member "${id}" was ever in "${group}"\n`);
      return NO;
    }
  } finally {
    await candidate.close();
  }
  process.stdout.write(
    isJson
      ? `${JSON.stringify({ group, asked: wish })}\n`
      : `asked of "${group}"; conclave partitions status ${group} shows how far it is\n`,
  );
  return YES;
}
