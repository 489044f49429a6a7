// conclave/stonith: elections whose next leader begins only when the machine of the last one is off for certain. `conclave stonith` is made of this.
export {
  giveStonithOrder,
  meaningOf,
  shownOf,
  type Shown,
  type StonithStatus,
  stonithStatus,
  untilOff,
} from "./admin.ts";
export { refusalOfStore, type StoreInTests } from "./admission.ts";
export type { Agents, AgentLimits } from "./agents.ts";
export {
  type LoadedConfig,
  loadStonithConfig,
  type NodeConfig,
  parseStonithConfig,
  type StonithChoices,
  type StonithConfig,
  stonithPlanOf,
} from "./config.ts";
export type { AgentCommand, AgentEnd, Device, DeviceCall, Ordered, Power } from "./device.ts";
export { command, type CommandOptions } from "./devices/command.ts";
export { fenceAgent, type FenceAgentOptions } from "./devices/fence-agent.ts";
export { ipmi, type IpmiOptions } from "./devices/ipmi.ts";
export { FedWatchdog, inspectWatchdog, type WatchdogFound, type WatchdogPlaces } from "./devices/watchdog.ts";
export { type Decision, type DecisionOptions, decisionOf } from "./dry-run.ts";
export { GuardedCommand, type GuardedCommandEvent, type GuardedCommandOptions } from "./guarded-command.ts";
export { GuardedElection, guardedElection, type GuardedEvent, type GuardedOptions } from "./guarded.ts";
export { openRunner } from "./open-runner.ts";
export type { HistoryEntry, Intent, Stint, StonithRecord } from "./record.ts";
export { type Patience, DeviceRunner, type ShotNews, type ShotReport, type ShotRequest } from "./runner.ts";
export type { Shooter } from "./shooter.ts";
export type { SecretSource } from "./secrets.ts";
export type { StonithNews } from "./state.ts";
