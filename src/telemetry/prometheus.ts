// A family of metrics in Prometheus' text format.
import type { HistogramSample, Labels, MetricFamily } from "./metrics.ts";

export function textOf(family: MetricFamily): string {
  const { name, help, type } = family;
  const lines =
    family.type === "histogram"
      ? family.samples.flatMap((sample) => histogramLines(name, sample))
      : family.samples.map(({ labels, value }) => `${name}${labelsOf(labels)} ${value}\n`);
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

function histogramLines(name: string, { labels, count, sum, buckets }: HistogramSample): readonly string[] {
  return [
    ...buckets.map((bucket) => `${name}_bucket${labelsOf({ ...labels, le: boundOf(bucket.le) })} ${bucket.count}\n`),
    `${name}_sum${labelsOf(labels)} ${sum}\n`,
    `${name}_count${labelsOf(labels)} ${count}\n`,
  ];
}

function boundOf(le: number): string {
  return le === Infinity ? "+Inf" : String(le);
}

function labelsOf(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escapeLabel(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
