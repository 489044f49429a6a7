// `conclave stonith status`: how a guarded election stands, and what the devices of its nodes say. Reads only, and gives no order.
import { openRunner, type Power, type StonithConfig, type StonithStatus, stonithStatus } from "../../stonith/index.ts";
import { NO, YES } from "../command.ts";
import { readFlags } from "../flags.ts";
import { asJson, COMMON, type StonithSetup, withSetup } from "./setup.ts";

const OPTIONS = { ...COMMON, "without-devices": { type: "boolean", default: false } } as const;

export async function status(args: readonly string[]): Promise<number> {
  const { values } = readFlags({ args: [...args], options: OPTIONS, allowPositionals: false });
  const devices = !values["without-devices"];
  return await withSetup(values, { devices }, async (setup) => {
    const [found, power] = await Promise.all([
      stonithStatus(setup.candidate, setup.config.election),
      devices ? powerOf(setup) : Promise.resolve({}),
    ]);
    process.stdout.write(values.json ? asJson({ ...found, power }) : told(found, setup.config, power));
    const isOpen = found.record.intents.some(({ off }) => off === undefined);
    return isOpen || found.leader === undefined ? NO : YES;
  });
}

type Powers = Readonly<Record<string, Power>>;

/** What the devices say of every node that has some. */
export async function powerOf(setup: StonithSetup): Promise<Powers> {
  const runner = openRunner(setup);
  const signal = new AbortController().signal;
  try {
    const found: [string, Power][] = [];
    for (const node of runner.nodes) found.push([node, await runner.look(node, signal)]);
    return Object.fromEntries(found);
  } finally {
    await runner.close();
  }
}

function told({ election, record, leader, bans }: StonithStatus, { nodes }: StonithConfig, power: Powers): string {
  const led =
    leader === undefined
      ? "nobody leads"
      : `${leader.id} leads${leader.token === undefined ? "" : ` (token ${leader.token})`}`;
  const shown = new Set([
    ...Object.keys(nodes),
    ...record.acting.map(({ node }) => node),
    ...record.intents.map(({ node }) => node),
  ]);
  return [
    `${election}: ${led}`,
    ...[...shown].map(
      (node) =>
        `  ${node.padEnd(12)} ${factsOf(
          node,
          record,
          nodes[node]?.levels.length === 0 ? "none" : power[node],
          bans.map((ban) => ban.node),
        ).join("; ")}`,
    ),
    ...record.intents.map(
      ({ id, node, why, off, joined, last }) =>
        `  intent ${id}: ${node} ${off === undefined ? "is TO BE OFF, and is not verified" : `is off (by ${off.by})`}: ${why}` +
        (last === undefined || off !== undefined ? "" : `; last shot: ${last.outcome}: ${last.said}`) +
        (joined.length === 0
          ? ""
          : `; may still shoot: ${joined.map((stint) => `${stint.node} (term ${stint.token})`).join(", ")}`),
    ),
    "",
  ].join("\n");
}

function factsOf(
  node: string,
  { acting, off }: StonithStatus["record"],
  power: Power | "none" | undefined,
  banned: readonly string[],
): readonly string[] {
  const acts = acting.filter((stint) => stint.node === node).map(({ token }) => token);
  const facts = [
    ...(power === undefined ? [] : [powerInWords(power)]),
    ...(acts.length === 0 ? [] : [`acting since term ${acts.join(", ")}`]),
    ...(banned.includes(node) ? ["BANNED"] : []),
    ...(off.some((each) => each.node === node) ? ["counts as off"] : []),
  ];
  return facts.length === 0 ? ["idle"] : facts;
}

/** Without a device nobody can say whether it is on. */
function powerInWords(power: Power | "none"): string {
  if (power === "none") return "no device";
  return power.is === "unknown" ? `power UNKNOWN (${power.why})` : `power ${power.is}`;
}
