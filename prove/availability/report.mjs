/**
 * Verdict on the run of one attack, and its row in the table.
 */

export const PROBES = 200;
export const PROBE_MS_MAX = 250;
export const RSS_ANON_MB_MAX = 700;

/** A write, sync or upload of the neighbour that takes longer counts as stopped. */
export const NEIGHBOUR_MS_MAX = 5_000;

/** If the host takes a larger share of the time, a missed limit proves nothing. */
export const STOLEN_PART_MAX = 0.01;

export function longest(times) {
  return times.reduce((most, time) => Math.max(most, time), 0);
}

export function quantile(times, part) {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

/** Violated guarantees in words; empty if all hold. */
export function faultsOf(result) {
  if (result.error !== undefined) return [`failed to run: ${result.error}`];
  const faults = [];
  const { probes, neighbour, maxRssMb, isAlive, lost } = result;
  const slow = probes.times.filter((time) => time > PROBE_MS_MAX).length;
  const made = probes.times.length + probes.failed;
  if (slow > 0) faults.push(`${slow} of ${made} probes above ${PROBE_MS_MAX} ms`);
  if (probes.failed > 0) faults.push(`${probes.failed} probes without an answer`);
  if (maxRssMb > RSS_ANON_MB_MAX) faults.push(`${Math.round(maxRssMb)} MB`);
  for (const [kind, { times, failed }] of Object.entries(neighbour)) {
    if (times.length === 0) faults.push(`no ${kind} of the neighbour`);
    if (failed.length > 0)
      faults.push(`${failed.length} ${kind} of the neighbour failed: ${failed[0]}`);
    if (longest(times) > NEIGHBOUR_MS_MAX) faults.push(`${kind} of the neighbour waited`);
  }
  if (!isAlive) faults.push("does not answer any more");
  if (lost > 0) faults.push(`${lost} acknowledged writes lost`);
  return faults;
}

/** Whether the attack succeeded on a machine that was not quiet. */
export function mustRunAgain(result) {
  return faultsOf(result).length > 0 && result.stolenPart > STOLEN_PART_MAX;
}

const COLUMNS = [
  ["attack", ({ name }) => name],
  ["credential", ({ credential }) => credential],
  ["longest probe ms", ({ probes }) => ms(longest(probes.times))],
  ["p50", ({ probes }) => ms(quantile(probes.times, 0.5))],
  [
    `over ${PROBE_MS_MAX}`,
    ({ probes }) => probes.times.filter((time) => time > PROBE_MS_MAX).length + probes.failed,
  ],
  ["longest turn, CPU ms", ({ turns }) => ms(turns.cpuMs)],
  ["on the wall", ({ turns }) => ms(turns.wallMs)],
  ["stolen %", ({ stolenPart }) => (100 * stolenPart).toFixed(1)],
  ["writes", ({ neighbour }) => service(neighbour.writes)],
  ["syncs", ({ neighbour }) => service(neighbour.syncs)],
  ["uploads", ({ neighbour }) => service(neighbour.uploads)],
  ["max RssAnon MB", ({ maxRssMb }) => Math.round(maxRssMb)],
  ["the attacker got", ({ answers }) => tally(answers)],
  ["holds", (result) => verdict(result)],
];

function ms(time) {
  return Number.isFinite(time) ? String(Math.round(time)) : "";
}

/** Number of calls, number of failures, and the longest wait. */
function service({ times, failed }) {
  const count =
    failed.length === 0 ? `${times.length}` : `${times.length}, ${failed.length} failed`;
  return `${count}; ${ms(longest(times))} ms`;
}

/** Counts of answers, the most frequent first. */
function tally(answers) {
  const sorted = Object.entries(answers).sort(([, a], [, b]) => b - a);
  return sorted.map(([kind, count]) => `${kind} × ${count}`).join(", ");
}

function verdict(result) {
  const faults = faultsOf(result);
  return faults.length === 0 ? "yes" : `**no**: ${faults.join("; ")}`;
}

function row(cells) {
  return `| ${cells.map((cell) => String(cell).replace(/\s+/g, " ")).join(" | ")} |`;
}

export function tableHead() {
  return [row(COLUMNS.map(([title]) => title)), row(COLUMNS.map(() => "---"))].join("\n");
}

export function tableRow(result) {
  if (result.error === undefined) return row(COLUMNS.map(([, pick]) => pick(result)));
  const blanks = COLUMNS.slice(3).map(() => "");
  return row([result.name, result.credential, ...blanks, verdict(result)]);
}
