/**
 * Duration histogram: counts durations in buckets, for each combination of labels, in the text
 * format of Prometheus.
 *
 * An observation only adds to an array: it is on the path of every request. Callers that observe
 * often keep the result of `of`.
 */

import { headText, type Labels, labelsText, numberText, sampleLine } from "./exposition.ts";

export interface HistogramOptions {
  readonly name: string;
  readonly help: string;
  /** Upper bounds of the buckets in seconds, ascending. */
  readonly bounds: readonly number[];
}

/** Observations of one combination of labels. */
export class Durations {
  readonly #bounds: readonly number[];
  /** Count of each bucket, not cumulative; the last one is for values above all bounds. */
  readonly #counts: number[];
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = [...bounds, Number.POSITIVE_INFINITY].map(() => 0);
  }

  observe(seconds: number): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && seconds > (bounds[bucket] as number)) bucket++;
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1;
    this.#sum += seconds;
  }

  /** The samples, with `labels` on each. */
  text(name: string, labels: string): string {
    const rest = labels === "" ? "" : `,${labels}`;
    let count = 0;
    const buckets = this.#counts.map((own, i) => {
      count += own;
      const bound = numberText(this.#bounds[i] ?? Number.POSITIVE_INFINITY);
      return sampleLine(`${name}_bucket`, `le="${bound}"${rest}`, count);
    });
    const sum = sampleLine(`${name}_sum`, labels, this.#sum);
    return buckets.join("") + sum + sampleLine(`${name}_count`, labels, count);
  }
}

export class DurationHistogram {
  readonly #options: HistogramOptions;
  /** By the text of their labels. */
  readonly #durations = new Map<string, Durations>();

  constructor(options: HistogramOptions) {
    this.#options = options;
  }

  /** Starts at zero if the combination is new. */
  of(labels: Labels): Durations {
    const key = labelsText(labels);
    const known = this.#durations.get(key);
    if (known !== undefined) return known;
    const made = new Durations(this.#options.bounds);
    this.#durations.set(key, made);
    return made;
  }

  remove(labels: Labels): void {
    this.#durations.delete(labelsText(labels));
  }

  text(): string {
    const { name, help } = this.#options;
    const parts = [headText({ name, help, type: "histogram" })];
    for (const [labels, durations] of this.#durations) parts.push(durations.text(name, labels));
    return parts.join("");
  }
}
