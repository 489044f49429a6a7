// `conclave failover …`: replaces a primary that is down, and never lets two servers take writes. Each verb is a file of its own; src/failover does the work.
import { NOT_UNDERSTOOD } from "./command.ts";
import { guard } from "./failover/guard.ts";
import { monitor } from "./failover/monitor.ts";
import { confirm, order } from "./failover/order.ts";
import { status } from "./failover/status.ts";
import { refuseVerb } from "./flags.ts";
import { fit } from "./help-text.ts";

export const help: string = `usage: conclave failover VERB --config FILE [options]

Watches a primary of Redis or PostgreSQL and its replicas, and replaces the primary when it is down: fences it, reads how much data the replicas have, chooses one, promotes it, and points the others to it. Two servers never take writes at once. For that, a guard beside each server starts the server, and kills it before another may be promoted; or a device powers the machine of the old primary off, and is asked whether it is off ("stonith" of the configuration); or both.

  monitor --as M       one of the configured monitors (three at least, on different hosts)
    --sentinel PORT    speak as Redis Sentinel on this port, for Sentinel-aware clients; --sentinel-host H (default 127.0.0.1)
    --dry-run          decide and print, and change nothing
    --unfenced         there are no guards and no devices: promote as Sentinel does; two servers may take writes at once
  guard --server S -- command…
                       starts the command as a replica, and promotes it only while it holds the seat of the primary; refuses to start beside an enabled unit of systemd for the same server
    --unit NAME        a unit to look for, beside the usual ones (may be given several times)
    --ignore-unit NAME this unit serves something else (may be given several times)
    --without-cgroup   go on where the service cannot have a cgroup of its own
  status               the primary, the step, the monitors and their votes, every server
  switchover           the primary hands over to another server, and no acknowledged write is lost
    --to S             to this server (default: the best one)
    --force            to the server of --to, whatever data it has: for a group in which nobody can be chosen. Without guards: power the primary's machine off first
    --dry-run          who would be chosen, and why
  pause, resume        while a group is paused, no failure starts a failover; orders are still carried out
  confirm SERVER       tells the leader of the monitors, which believes you, that the machine of a server that is being fenced is off
    --i-have-seen-that-it-is-off

  --config FILE        JSON: docs/FAILOVER.md
  --store URL          where monitors and guards meet (else "store" of the file, else CONCLAVE_STORE)
  --wait 30s           how long an order may take
  --http PORT          monitor and guard: /healthz, /status, /metrics, and of a guard /primary and /replica (200 or 503) on this port;
                       0 takes any, and says which; --http-host H (default 127.0.0.1)
  --json               one JSON object, or one a line for monitor and guard

Exit codes: 0 done, 1 not done (an order was refused; nobody is the primary), 2 not understood, 3 no answer, 130 interrupted (SIGINT).
`;

export async function run(args: readonly string[]): Promise<number> {
  const [verb, ...rest] = args;
  switch (verb) {
    case "monitor":
      return await monitor(rest);
    case "guard":
      return await guard(rest);
    case "status":
      return await status(rest);
    case "switchover":
    case "pause":
    case "resume":
      return await order(verb, rest);
    case "confirm":
      return await confirm(rest);
    case undefined:
      process.stderr.write(fit(help));
      return NOT_UNDERSTOOD;
    default:
      refuseVerb(verb, ["monitor", "guard", "status", "switchover", "pause", "resume", "confirm"]);
  }
}
