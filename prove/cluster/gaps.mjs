/**
 * Gaps: for how long no write was acknowledged after a fault, and how long that may be.
 */

/** Longest time without an acknowledged write, by the failure table of docs/cluster.md. */
export const BOUNDS_MS = {
  "no fault": 1_000,
  "following node killed": 1_000,
  "following node stopped": 1_000,
  "following node restarted": 1_000,
  "following node cut from NATS": 1_000,
  "following node cut from other nodes": 1_000,
  "evaluating node killed": 5_000,
  "evaluating node stopped": 5_000,
  "evaluating node restarted": 5_000,
  "evaluating node cut from NATS": 5_000,
  "evaluating node cut from other nodes": 5_000,
  "NATS server killed": 9_000,
  "NATS server stopped": 9_000,
  "NATS server cut from other servers": 9_000,
  "NATS leader killed": 9_000,
  "NATS leader stopped": 9_000,
  "NATS leader cut from other servers": 9_000,
  "NATS quorum lost": 9_000,
};

/** A run fails above so many times the bound. */
export const FACTOR_MAX = 3;

/** Faults that have no writes while they last: the gap counts from their end. */
const COUNTED_FROM_END = new Set(["NATS quorum lost"]);

/**
 * The longest gap during each episode, which has one fault or more.
 *
 * @param acknowledgedMs - Times of acknowledged writes, in order.
 * @param episodes - `{ faults: [{ kind, startMs, endMs }], startMs, endMs }`, in order.
 */
export function gapsOf(acknowledgedMs, episodes) {
  return episodes.map(({ faults, startMs, endMs }) => {
    const kinds = faults.map(({ kind }) => kind);
    const late = faults.filter(({ kind }) => COUNTED_FROM_END.has(kind));
    const fromMs = Math.max(startMs, ...late.map((fault) => fault.endMs));
    const boundMs = kinds.reduce((sum, kind) => sum + BOUNDS_MS[kind], 0);
    return {
      kind: kinds.toSorted().join(" + "),
      gapMs: longestGap(acknowledgedMs, fromMs, endMs),
      boundMs,
      startMs,
    };
  });
}

/** The longest part of a time span in which nothing happened. */
export function longestGap(timesMs, fromMs, toMs) {
  let [before, longest] = [fromMs, 0];
  for (const time of timesMs) {
    if (time <= fromMs) continue;
    if (time >= toMs) break;
    longest = Math.max(longest, time - before);
    before = time;
  }
  return Math.max(longest, toMs - before);
}

/** Violations in words. */
export function checkGaps(gaps) {
  return gaps
    .filter(({ gapMs, boundMs }) => gapMs > FACTOR_MAX * boundMs)
    .map(({ kind, gapMs, boundMs, startMs }) => {
      const gap = `${seconds(gapMs)} without an acknowledged write after ${seconds(startMs)}`;
      return `${kind}: ${gap}; expected at most ${FACTOR_MAX} times ${seconds(boundMs)}`;
    });
}

/** Lines of a Markdown table with the longest gap of each kind. */
export function gapTable(gaps) {
  const kinds = grouped(gaps);
  const rows = [...kinds]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([kind, all]) => {
      const times = all.map(({ gapMs }) => gapMs).toSorted((a, b) => a - b);
      const middle = times[Math.floor(times.length / 2)];
      const stats = [middle, times.at(-1), all[0].boundMs].map(seconds);
      return `| ${[kind, all.length, ...stats].join(" | ")} |`;
    });
  const head = ["fault", "times", "median gap", "longest gap", "bound"];
  return [`| ${head.join(" | ")} |`, "| --- | --: | --: | --: | --: |", ...rows].join("\n");
}

function grouped(gaps) {
  const kinds = new Map();
  for (const gap of gaps) kinds.set(gap.kind, [...(kinds.get(gap.kind) ?? []), gap]);
  return kinds;
}

function seconds(ms) {
  return `${(ms / 1000).toFixed(1)} s`;
}
