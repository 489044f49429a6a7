// conclave/failover replaces a primary that is down, and never lets two servers take writes. The commands `conclave failover` are built on it.
export {
  choiceNow,
  type FailoverStatus,
  giveOrder,
  type MonitorStatus,
  statusOf,
  switchoverNow,
  type WantedSwitchover,
} from "./admin.ts";
export type { Choice, View, Views } from "./choice.ts";
export {
  type FailoverConfig,
  type FailoverKind,
  parseFailoverConfig,
  readFailoverConfig,
  replicationOf,
} from "./config.ts";
export { type FailoverEndpoints, serveGuard, serveMonitor } from "./endpoints.ts";
export { Guard, type GuardEvent, type GuardOptions } from "./guard.ts";
export { createFailoverMetrics, type FailoverMetricName, type FailoverMetrics, type MonitorSight } from "./metrics.ts";
export { Monitor, type MonitorEvent, type MonitorOptions } from "./monitor.ts";
export type { FailoverRecord, Shot, Step } from "./record.ts";
export { postgresReplication, type PostgresReplicationOptions } from "./postgres.ts";
export { redisReplication } from "./redis.ts";
export type { Beginning, Prepared, Promotion, Replication, ServerLink, ServerSpec } from "./replication.ts";
export { SentinelPort, sentinelViewOf } from "./sentinel.ts";
export { type Address, type SentinelView, switchMessages } from "./sentinel-words.ts";
export { type CheckedRules, type PowerFence, shotRulesOf } from "./stonith.ts";
export type { StonithKey } from "./stonith-key.ts";
export { strangerAt } from "./strangers.ts";
export { enabledUnits, USUAL_UNITS } from "./units.ts";
export type { ShotRules } from "./state.ts";
