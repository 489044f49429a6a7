// `conclave stonith confirm NODE`: a human says what no device can say. The leader believes it, so the human is told what it means, and has to say it in a flag whose name is the sentence, or by the name of the node on
// a terminal. A confirmation is about what was shown, and nothing that comes later.
import { createInterface } from "node:readline/promises";
import { giveStonithOrder, meaningOf, type Shown, shownOf, stonithStatus } from "../../stonith/index.ts";
import { NO, UNKNOWN, UsageError, YES } from "../command.ts";
import { abortAfter, onlyName, readDuration, readFlags } from "../flags.ts";
import { asJson, checkNode, COMMON, operator, type StonithSetup, withSetup } from "./setup.ts";

const SAYS = {
  "i-have-seen-that-it-is-off": "off",
  "no-shot-can-come": "quiet",
  "it-is-on-again": "on",
} as const;
type Says = (typeof SAYS)[keyof typeof SAYS];

const OPTIONS = {
  ...COMMON,
  wait: { type: "string", default: "30s" },
  "i-have-seen-that-it-is-off": { type: "boolean", default: false },
  "no-shot-can-come": { type: "boolean", default: false },
  "it-is-on-again": { type: "boolean", default: false },
} as const;

export async function confirm(args: readonly string[]): Promise<number> {
  const { values, positionals } = readFlags({ args: [...args], options: OPTIONS, allowPositionals: true });
  const node = onlyName(positionals, "NODE");
  const waitMs = readDuration("--wait", values.wait);
  const said = (Object.keys(SAYS) as (keyof typeof SAYS)[]).filter((flag) => values[flag]);
  if (said.length > 1) throw new UsageError(`one at a time: ${said.map((flag) => `--${flag}`).join(" ")}`);
  const [flag] = said;
  const says: Says = flag === undefined ? "off" : SAYS[flag];
  return await withSetup(values, { devices: false }, async (setup) => {
    checkNode(setup, node);
    const { record } = await stonithStatus(setup.candidate, setup.config.election);
    const shown = shownOf(record, node);
    if (!isOpen(says, shown)) return tellNothing(node, says, shown);
    process.stderr.write(`${[...about(node, shown), ...meaningOf(node, says)].join("\n")}\n`);
    if (flag === undefined && !(await isTyped(node))) return NO;
    return await order(setup, { node, says, shown, waitMs, isJson: values.json });
  });
}

/** Whether what was seen has something that this confirmation would be about. */
function isOpen(says: Says, { acting, intent, since }: Shown): boolean {
  if (says === "on") return since !== undefined;
  return intent !== undefined || (says === "off" && acting.length > 0);
}

function tellNothing(node: string, says: Says, { since }: Shown): number {
  const why = says === "on" ? "is not taken for off" : "is not being fenced";
  const but = says === "on" || since === undefined ? "" : ", but that it is on again: --it-is-on-again";
  process.stderr.write(`conclave stonith: ${node} ${why}: there is nothing to confirm${but}\n`);
  return NO;
}

function about(node: string, { acting, intent }: Shown): readonly string[] {
  const acts =
    acting.length === 0
      ? "no term of it acts, as far as is known"
      : `it acts since term ${acting.map(({ token }) => token).join(", ")}`;
  return [
    `${node}: ${acts}; ${intent === undefined ? "no intent against it is open" : `intent ${intent} against it is open`}.`,
  ];
}

/** On a terminal the name of the node is typed; a script has to use the flag. */
async function isTyped(node: string): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new UsageError(
      `say what you confirm: ${Object.keys(SAYS)
        .map((each) => `--${each}`)
        .join(", ")}`,
    );
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const typed = await terminal.question(`Type the name of the node to say so: `);
  terminal.close();
  if (typed.trim() === node) return true;
  process.stderr.write("Nothing was confirmed.\n");
  return false;
}

interface Confirmation {
  readonly node: string;
  readonly says: Says;
  readonly shown: Shown;
  readonly waitMs: number;
  readonly isJson: boolean;
}

async function order(
  { candidate, config }: StonithSetup,
  { node, says, shown, waitMs, isJson }: Confirmation,
): Promise<number> {
  const wanted = { kind: "confirm", node, says, by: operator(), ...shown } as const;
  const answer = await giveStonithOrder(candidate, config.election, wanted, abortAfter(waitMs));
  if (answer === undefined) {
    process.stderr.write(
      "conclave stonith: no leader has answered. A confirmation is answered by the leader: start a candidate, which will hear it if it comes soon. conclave stonith status shows who leads.\n",
    );
    return UNKNOWN;
  }
  process.stdout.write(isJson ? asJson(answer) : `${answer.said}\n`);
  return answer.isDone ? YES : NO;
}
