/**
 * Exposition: metrics in the text format of Prometheus, version 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/).
 *
 * It writes what others counted. The names and help texts are constants of this server; the values
 * of labels are escaped, because some of them come from outside.
 */

export const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export type MetricType = "counter" | "gauge" | "histogram";

export interface MetricHead {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
}

/** Values by the name of the label, in the order in which they are written. */
export type Labels = Readonly<Record<string, string | number>>;

export type Sample = readonly [labels: Labels, value: number];

/** A metric with all its samples, also if it has none. */
export function metricText(head: MetricHead, samples: Iterable<Sample>): string {
  const lines = Array.from(samples, ([labels, value]) =>
    sampleLine(head.name, labelsText(labels), value),
  );
  return headText(head) + lines.join("");
}

export function headText({ name, help, type }: MetricHead): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}

/** `labels` is a result of labelsText. */
export function sampleLine(name: string, labels: string, value: number): string {
  return `${name}${labels === "" ? "" : `{${labels}}`} ${numberText(value)}\n`;
}

/** Such as `app="a1",outcome="done"`; empty without labels. */
export function labelsText(labels: Labels): string {
  const parts: string[] = [];
  for (const name in labels) parts.push(`${name}="${escapeValue(String(labels[name]))}"`);
  return parts.join(",");
}

/** The format has words of its own for infinity. */
export function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  return value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value);
}

function escapeValue(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
