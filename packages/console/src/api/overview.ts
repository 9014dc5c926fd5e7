/**
 * The overview of the server: what it has now, and the series of the last hour.
 */
import type { TimeSeries } from "../data/time-series.ts";
import { request } from "./request.ts";
import { managed } from "./session.ts";

export interface AppSummary {
  readonly name: string;
  readonly appId: string;
  readonly documents: number | null;
  readonly bytes: number | null;
  readonly peers: number;
}

export interface LoggedError {
  readonly at: string;
  readonly level: "warn" | "error";
  readonly message: string;
}

export interface Overview {
  readonly version: string;
  readonly startedAt: string;
  readonly apps: { readonly count: number; readonly shown: readonly AppSummary[] };
  readonly documents: number | null;
  readonly disk: {
    readonly freeBytes: number | null;
    readonly totalBytes: number | null;
    readonly dataBytes: number | null;
  };
  readonly peers: number;
  /** The newest value of each series; null before the first. */
  readonly now: Readonly<Record<string, number | null>> | null;
  readonly lastBackupAt: string | null;
  readonly lastErrors: readonly LoggedError[];
}

interface OverviewAnswer extends Overview {
  readonly series: Readonly<Record<string, number | readonly (number | null)[]>> & {
    readonly at: readonly number[];
  };
}

/** The points after `since`, in milliseconds since 1970; undefined is the whole hour. */
export async function loadOverview(
  since: number | undefined,
  signal: AbortSignal,
): Promise<{ readonly overview: Overview; readonly points: TimeSeries }> {
  const path = since === undefined ? "/overview" : `/overview?since=${since}`;
  const answer = await request<OverviewAnswer>(managed(path), { signal });
  const { at, ...others } = answer.series;
  const values: Record<string, readonly (number | null)[]> = {};
  for (const [name, each] of Object.entries(others))
    if (typeof each !== "number") values[name] = each;
  // A chart has one unit.
  const linkLagMs = values["linkLagSeconds"]?.map((each) => each && each * 1000) ?? [];
  return { overview: answer, points: { at, values: { ...values, linkLagMs } } };
}
