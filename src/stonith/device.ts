// The contract of a STONITH device: two functions. Everything else (delays, tries, deadlines, escalation, verification) is the runner's (runner.ts).
//
// A device's answer to an order is never believed. It says only whether the order was given. A machine is off when `status`, asked after the order, says so. Answers have three values:
// no answer, a late answer and an answer that cannot be understood are `unknown`, and `unknown` never permits a takeover.
//
// A device starts processes only through the call that it is given. So they are started behind a gate, killed before the shooter's deadline, and known to be gone (agents.ts).

/** What a device says of a machine. */
export type Power = { readonly is: "on" } | { readonly is: "off" } | { readonly is: "unknown"; readonly why: string };

/** What became of an order. `taken` is no proof that the machine is off. */
export type Ordered =
  | { readonly is: "taken" }
  /** The order was definitely not given: the password was wrong, or a program is not there. */
  | { readonly is: "refused"; readonly why: string }
  /** The order may take effect, now or later. */
  | { readonly is: "unknown"; readonly why: string };

/** A process that a device wants to be started. */
export interface AgentCommand {
  /** Everybody on the host can read this: no secret may be in it. */
  readonly argv: readonly [string, ...string[]];
  /** Written to its stdin. */
  readonly input?: string | undefined;
  /** In addition to the environment of this process. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Struck from whatever it prints. */
  readonly secrets?: readonly string[] | undefined;
}

/** How an agent ended. */
export type AgentEnd =
  | { readonly is: "exited"; readonly code: number; readonly stdout: string; readonly stderr: string }
  /** It was ended before it was done: what it had ordered may take effect. */
  | { readonly is: "killed"; readonly why: string }
  /** Nothing was started. */
  | { readonly is: "not-started"; readonly why: string };

/** What the runner gives to a device, for one call. */
export interface DeviceCall {
  readonly run: (command: AgentCommand) => Promise<AgentEnd>;
}

/** A way to power a machine off. */
export interface Device {
  /** As the configuration calls it. */
  readonly name: string;
  status(node: string, call: DeviceCall): Promise<Power>;
  /** The order is `off`, and never `reboot`: a machine that comes back by itself cannot be verified. */
  setPower(node: string, power: "off", call: DeviceCall): Promise<Ordered>;
}

/** What an agent that gave no answer means for a question. */
export function unanswered(end: Exclude<AgentEnd, { is: "exited" }>): Power & { is: "unknown" } {
  return { is: "unknown", why: end.why };
}

/** What an agent that did not end by itself means for an order: an agent that was not started has ordered nothing. */
export function unfinished(end: Exclude<AgentEnd, { is: "exited" }>): Ordered {
  return { is: end.is === "not-started" ? "refused" : "unknown", why: end.why };
}

const SAID_MAX = 300;

/** The end of what an agent printed, as a part of a sentence. */
export function said({ code, stdout, stderr }: Extract<AgentEnd, { is: "exited" }>): string {
  const text = `${stderr}\n${stdout}`.replaceAll(/\s+/g, " ").trim();
  const tail = text.length > SAID_MAX ? `…${text.slice(-SAID_MAX)}` : text;
  return `exit code ${code}${tail === "" ? "" : `: ${tail}`}`;
}
