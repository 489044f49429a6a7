// `conclave stonith VERB`: chooses the verb, and has the help. src/stonith does the work.
import { NOT_UNDERSTOOD } from "./command.ts";
import { refuseVerb } from "./flags.ts";
import { confirm } from "./stonith/confirm.ts";
import { fence } from "./stonith/fence.ts";
import { history } from "./stonith/history.ts";
import { run as runCommand } from "./stonith/run.ts";
import { status } from "./stonith/status.ts";
import { fit } from "./help-text.ts";

export const help: string = `usage: conclave stonith VERB --config FILE [options]

Runs a guarded election: the next leader begins its work only when the machine of the leader before it is off for certain. After every order to switch a machine off, the device is asked whether the machine is off. If a shot fails, or if nobody knows its outcome, there is no takeover until a human confirms that the machine is off.

  run --node NODE -- command…
                       one candidate, on the node NODE (default: the name of this host): the command runs while it leads, once
                       everybody who acted before is off for certain
    --drain 3s         from SIGTERM to SIGKILL at most (default: a fifth of the ttl)
    --store-without-quorum-only-for-tests
                       shoot through a store that is one server, and may forget a ban
  status               who leads, who acts, which nodes are to be off, and what the devices say
    --without-devices  ask only the store
  fence NODE           asks the leader to power NODE off, and waits until that is verified. This command itself switches nothing off
    --why TEXT         the reason, for the history
    --node NODE        if nobody leads: campaign from this node, one of the configured ones, and carry the order out from here
    --dry-run          print whether NODE would be shot, with every reason for and against it, and order nothing
  confirm NODE         tells the leader what you have seen and no device can say; the leader believes you. It prints first what the confirmation means; on a terminal, without a flag, it asks for the name of the node. Exit code 1 if nothing waits for a confirmation
    --i-have-seen-that-it-is-off    NODE is off, or cut off from everything that the leader works on
    --no-shot-can-come              every process that had begun to shoot at NODE is dead: its ban may be lifted
    --it-is-on-again                NODE no longer counts as one of the nodes that are off
  history              who was shot, why, by whom, and what came of it

  --config FILE        JSON: docs/STONITH-DEVICES.md
  --store URL          where candidates meet (else "store" of the file, else CONCLAVE_STORE)
  --wait 2m            how long an order may take
  --json               one JSON object, or one a line for run

Exit codes: 0 done (status: nothing is open), 1 not done (refused, or not verified; status: a takeover waits, or nobody leads), 2 not understood,
3 no answer: nobody knows, 130 interrupted (SIGINT). run: that of the command, if it ended by itself; 128+n if signal n ended it.
`;

export async function run(args: readonly string[]): Promise<number> {
  const [verb, ...rest] = args;
  switch (verb) {
    case "run":
      return await runCommand(rest);
    case "status":
      return await status(rest);
    case "fence":
      return await fence(rest);
    case "confirm":
      return await confirm(rest);
    case "history":
      return await history(rest);
    case undefined:
      process.stderr.write(fit(help));
      return NOT_UNDERSTOOD;
    default:
      refuseVerb(verb, ["run", "status", "fence", "confirm", "history"]);
  }
}
