/**
 * Time series: points at equal steps, of which new ones arrive and old ones go.
 */

export interface TimeSeries {
  /** Milliseconds since 1970. */
  readonly at: readonly number[];
  /** By name, each as long as `at`. */
  readonly values: Readonly<Record<string, readonly (number | null)[]>>;
}

export const NO_POINTS: TimeSeries = { at: [], values: {} };

/** Adds points that are newer than the last one, and keeps the newest. */
export function appended(series: TimeSeries, added: TimeSeries, pointsMax: number): TimeSeries {
  const last = series.at.at(-1) ?? -Infinity;
  const from = added.at.findIndex((at) => at > last);
  if (from < 0) return series;
  const at = [...series.at, ...added.at.slice(from)].slice(-pointsMax);
  const values: Record<string, readonly (number | null)[]> = {};
  for (const [name, each] of Object.entries(added.values)) {
    const known = series.values[name] ?? series.at.map(() => null);
    values[name] = [...known, ...each.slice(from)].slice(-pointsMax);
  }
  return { at, values };
}

/** The greatest value; 0 without one. */
export function greatest(values: readonly (number | null)[]): number {
  return values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
}

/** Every `step`th point, the last one among them, the newest first. */
export function sampled(count: number, step: number): readonly number[] {
  const indexes: number[] = [];
  for (let i = count - 1; i >= 0; i -= step) indexes.push(i);
  return indexes;
}
