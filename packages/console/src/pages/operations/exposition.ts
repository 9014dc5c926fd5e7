/**
 * The text format of Prometheus: reads the metrics of the server, and sums up histograms so that
 * they can be read.
 */
import { countText } from "../../values/show-value.ts";

export interface Sample {
  readonly labels: string;
  readonly value: string;
  /** Of a histogram: how many values, their mean, and what half and 99 of 100 do not exceed. */
  readonly distribution?: Distribution;
}

export interface Distribution {
  readonly count: number;
  readonly mean: number | undefined;
  readonly median: number | undefined;
  readonly p99: number | undefined;
}

export interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: readonly Sample[];
}

interface Bucket {
  readonly le: number;
  readonly count: number;
}

interface OpenHistogram {
  readonly buckets: Bucket[];
  sum: number;
  count: number;
}

interface OpenFamily {
  readonly name: string;
  type: string;
  help: string;
  readonly samples: Sample[];
  readonly histograms: Map<string, OpenHistogram>;
}

const COMMENT = /^# (HELP|TYPE) (\S+) (.*)$/;
const SAMPLE = /^([^\s{]+)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;
const HISTOGRAM_PART = /_(bucket|sum|count)$/;

export function readExposition(text: string): Family[] {
  const families = new Map<string, OpenFamily>();
  const familyOf = (name: string): OpenFamily => {
    const found = families.get(name);
    if (found !== undefined) return found;
    const made = { name, type: "untyped", help: "", samples: [], histograms: new Map() };
    families.set(name, made);
    return made;
  };
  for (const line of text.split("\n")) {
    const [, kind, name = "", rest = ""] = COMMENT.exec(line) ?? [];
    if (kind === "HELP") familyOf(name).help = rest;
    else if (kind === "TYPE") familyOf(name).type = rest;
    else readSample(line, families, familyOf);
  }
  return [...families.values()].map(closed);
}

function readSample(
  line: string,
  families: ReadonlyMap<string, OpenFamily>,
  familyOf: (name: string) => OpenFamily,
): void {
  const [, name, labelText = "", value = ""] = SAMPLE.exec(line) ?? [];
  if (name === undefined) return;
  const labels = Array.from(labelText.matchAll(LABEL), ([, key = "", text = ""]) => ({
    key,
    text,
  }));
  const [suffix, part] = HISTOGRAM_PART.exec(name) ?? [];
  const whole = suffix === undefined ? undefined : families.get(name.slice(0, -suffix.length));
  if (whole === undefined || part === undefined || whole.type !== "histogram") {
    familyOf(name).samples.push({ labels: labelsText(labels), value: valueText(Number(value)) });
    return;
  }
  const key = labelsText(labels.filter((label) => label.key !== "le"));
  const histogram = whole.histograms.get(key) ?? { buckets: [], sum: 0, count: 0 };
  whole.histograms.set(key, histogram);
  const number = Number(value);
  if (part === "sum") histogram.sum = number;
  else if (part === "count") histogram.count = number;
  else
    histogram.buckets.push({
      le: limitOf(labels.find((each) => each.key === "le")?.text),
      count: number,
    });
}

function limitOf(text: string | undefined): number {
  return text === "+Inf" ? Number.POSITIVE_INFINITY : Number(text);
}

function closed({ name, type, help, samples, histograms }: OpenFamily): Family {
  const summed = Array.from(histograms, ([labels, histogram]): Sample => {
    const { count, sum, buckets } = histogram;
    const distribution = {
      count,
      mean: count === 0 ? undefined : sum / count,
      median: quantile(buckets, count, 0.5),
      p99: quantile(buckets, count, 0.99),
    };
    return { labels, value: countText(count), distribution };
  });
  return { name, type, help, samples: [...samples, ...summed] };
}

/** Linear within its bucket, as Prometheus does; of the last bucket its lower limit. */
function quantile(buckets: readonly Bucket[], count: number, share: number): number | undefined {
  if (count === 0) return undefined;
  const rank = share * count;
  let lower: Bucket = { le: 0, count: 0 };
  for (const bucket of buckets) {
    if (bucket.count >= rank) {
      if (!Number.isFinite(bucket.le)) return lower.le;
      const within = bucket.count - lower.count;
      const part = within === 0 ? 0 : (rank - lower.count) / within;
      return lower.le + (bucket.le - lower.le) * part;
    }
    lower = bucket;
  }
  return undefined;
}

function labelsText(labels: readonly { readonly key: string; readonly text: string }[]): string {
  return labels.map(({ key, text }) => `${key}=${text}`).join(" ");
}

function valueText(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (Number.isInteger(value)) return countText(value);
  return String(Number(value.toPrecision(6)));
}
