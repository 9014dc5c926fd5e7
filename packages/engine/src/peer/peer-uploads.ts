/**
 * Peer uploads: the send window of a peer. It sends its uploads in order, up to a limit (S32).
 *
 * On each connection all uploads without an outcome are sent again, even those that the server has:
 * it answers with the outcome (S25). Uploads of another site wait until nothing is in flight, and
 * until the server has answered what it has of that site (S31).
 */

import type { Forked, Outcome, Site, SiteMessage } from "@bigpeer/protocol";
import { stillAwaited } from "./ended-streams.ts";
import type { SequencedUpload } from "./peer-layers.ts";
import { type Linked, type StepContext, type Uploads, withLink } from "./session-state.ts";

/** Uploads without an outcome, at most (S32). */
export const UPLOADS_IN_FLIGHT_MAX = 64;

/** Upload state of a connection that was just welcomed. */
export function uploadsOf(site: Site): Uploads {
  return {
    wait: "reoffering",
    site,
    sent: new Map(),
    inFlight: [],
    ready: [],
    mayHaveMore: true,
  };
}

function withUploads(state: Linked, change: Partial<Uploads>): Linked {
  return withLink(state, { uploads: { ...state.phase.link.uploads, ...change } });
}

/** Sends the uploads that fit into the window, and asks the store for more. */
export function pump(state: Linked, context: StepContext): Linked {
  if (state.phase.name !== "open") return state;
  const { window, offsetMs, uploads } = state.phase.link;
  if (uploads.wait !== "nothing") return state;
  const room = window - uploads.inFlight.length;
  const next = sendReady(uploads, room, context);
  if (next.wait !== "nothing" || next.ready.length > 0) return withUploads(state, next);
  const max = window - next.inFlight.length;
  // With a long backlog, half a window at a time: the store makes each batch durable.
  if (!next.mayHaveMore || max * 2 < window) return withUploads(state, next);
  const { connection } = state;
  context.actions.push({ kind: "sequence", connection, offsetMs, max, sent: next.sent });
  return withUploads(state, { ...next, wait: "sequencing", mayHaveMore: false });
}

function sendReady(uploads: Uploads, room: number, context: StepContext): Uploads {
  const count = Math.max(0, Math.min(room, ownRun(uploads)));
  const going = uploads.ready.slice(0, count);
  const ready = uploads.ready.slice(count);
  const sent = going.length === 0 ? uploads.sent : new Map(uploads.sent);
  for (const { site, number, digest, steps } of going) {
    context.actions.push({ kind: "send", message: { t: "upload", number, digest, steps } });
    if (sent instanceof Map) sent.set(site, number);
  }
  const inFlight = [...uploads.inFlight, ...going.map(({ site, number }) => ({ site, number }))];
  const next = { ...uploads, ready, sent, inFlight };
  const [first] = ready;
  if (first === undefined || inFlight.length > 0 || ownRun(next) > 0) return next;
  context.actions.push({ kind: "send", message: { t: "site", site: first.site } });
  return { ...next, wait: "site", asked: first.site };
}

/**
 * How many of the first uploads are of the current site and continue the last number. At a gap,
 * left by uploads that are no longer kept, the peer asks the server again what it has (S31).
 */
function ownRun({ ready, site, sent }: Uploads): number {
  let last = sent.get(site);
  let count = 0;
  for (const upload of ready) {
    if (upload.site !== site || upload.number !== (last ?? upload.number - 1) + 1) break;
    last = upload.number;
    count++;
  }
  return count;
}

export function takePending(state: Linked, context: StepContext): Linked {
  return pump(withUploads(state, { mayHaveMore: true }), context);
}

/** The uploads that the store found. They are void if a fork has begun since. */
export function takeSequenced(
  state: Linked,
  { uploads, isAll }: { readonly uploads: readonly SequencedUpload[]; readonly isAll: boolean },
  context: StepContext,
): Linked {
  const { wait, mayHaveMore } = state.phase.link.uploads;
  if (wait !== "sequencing") return state;
  const next = { wait: "nothing", ready: uploads, mayHaveMore: mayHaveMore || !isAll } as const;
  return pump(withUploads(state, next), context);
}

export function takeReoffered(state: Linked, ask: Site | undefined, context: StepContext): Linked {
  if (state.phase.link.uploads.wait !== "reoffering") return state;
  if (ask === undefined) return pump(withUploads(state, { wait: "nothing" }), context);
  context.actions.push({ kind: "send", message: { t: "site", site: ask } });
  return withUploads(state, { wait: "site", asked: ask });
}

export function takeForkDone(state: Linked, context: StepContext): Linked {
  if (state.phase.link.uploads.wait !== "forking") return state;
  return pump(withUploads(state, { wait: "nothing", ready: [], mayHaveMore: true }), context);
}

export function takeOutcomes(state: Linked, outcomes: readonly Outcome[]): Linked {
  if (outcomes.length === 0) return state;
  const { inFlight } = state.phase.link.uploads;
  const isDone = ({ site, number }: { site: Site; number: number }): boolean =>
    outcomes.some((outcome) => outcome.number === number && outcome.site === site);
  const left = inFlight.filter((upload) => !isDone(upload));
  const ended = stillAwaited(state.phase.link.ended, left);
  return withLink(withUploads(state, { inFlight: left }), { ended });
}

/** Ignored for an upload that is not in flight: one `forked` answers all later uploads. */
export function takeForked(state: Linked, { site, number }: Forked, context: StepContext): Linked {
  const { inFlight } = state.phase.link.uploads;
  const isOurs = inFlight.some((upload) => upload.site === site && upload.number === number);
  if (!isOurs) return state;
  context.actions.push({ kind: "fork", connection: state.connection, site, number });
  const left = inFlight.filter((upload) => upload.site !== site || upload.number < number);
  const ended = stillAwaited(state.phase.link.ended, left);
  return withLink(withUploads(state, { wait: "forking", ready: [], inFlight: left }), { ended });
}

/** Undefined if the peer did not ask: an upload did not continue the previous number (S32). */
export function takeSite(
  state: Linked,
  { site, known }: SiteMessage,
  context: StepContext,
): Linked | undefined {
  const { wait, asked, ...uploads } = state.phase.link.uploads;
  if (wait !== "site" || site !== asked) return undefined;
  // All uploads of the site have outcomes, so the next one may have any number.
  const sent = new Map(uploads.sent);
  sent.delete(site);
  context.actions.push({ kind: "reoffer", connection: state.connection, site, known: known ?? 0 });
  return withUploads(state, { wait: "reoffering", site, sent, ready: [], mayHaveMore: true });
}
