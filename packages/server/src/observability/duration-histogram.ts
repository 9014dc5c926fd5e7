/**
 * Duration histogram: a histogram of durations by one label, in the text format of Prometheus.
 *
 * The library of the other metrics looks up labels and buckets by text on each observation. That is
 * too slow for every request, so this one counts in arrays.
 */

export interface HistogramOptions {
  readonly name: string;
  readonly help: string;
  readonly label: string;
  /** Upper bounds of the buckets in seconds, ascending. */
  readonly bounds: readonly number[];
}

/** Observations of one value of the label. */
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

  /** The samples, with `label` on each. */
  lines(name: string, label: string): string[] {
    let count = 0;
    const buckets = this.#counts.map((own, i) => {
      count += own;
      return `${name}_bucket{le="${this.#bounds[i] ?? "+Inf"}",${label}} ${count}`;
    });
    return [...buckets, `${name}_sum{${label}} ${this.#sum}`, `${name}_count{${label}} ${count}`];
  }
}

export class DurationHistogram {
  readonly #options: HistogramOptions;
  readonly #durations = new Map<string, Durations>();

  constructor(options: HistogramOptions) {
    this.#options = options;
  }

  /** Frequent callers keep the result. The value must need no escapes. */
  of(value: string): Durations {
    const known = this.#durations.get(value);
    if (known !== undefined) return known;
    const made = new Durations(this.#options.bounds);
    this.#durations.set(value, made);
    return made;
  }

  text(): string {
    const { name, help, label } = this.#options;
    const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`];
    for (const [value, durations] of this.#durations) {
      lines.push(...durations.lines(name, `${label}="${value}"`));
    }
    return `${lines.join("\n")}\n`;
  }
}
