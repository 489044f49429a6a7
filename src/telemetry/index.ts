// conclave/telemetry: the events of a candidate as lines of a log and as metrics. Both are only other shapes of the same union.
export { levelOf, type LogLevel, logLine } from "./log.ts";
export {
  createMetrics,
  type HistogramSample,
  type Labels,
  type MetricFamily,
  type MetricName,
  type Metrics,
  type MetricsOptions,
} from "./metrics.ts";
