/**
 * Upload sequence: pure functions that pass the uploads of a session to the store in order.
 *
 * Uploads do not wait for each other; the store decides by number and digest whether one is new. An
 * upload that does not continue the sequence is answered once. Uploads that the peer sent before it
 * received that answer are ignored (S29, S32).
 */

import { type Site, type UploadMessage, unreachable } from "@bigpeer/protocol";
import type { UploadAnswer } from "../../store/upload.ts";
import type { SessionAction } from "./session-event.ts";
import type { UploadSequence } from "./session-state.ts";

export interface SequenceStep {
  readonly line: UploadSequence;
  readonly actions: readonly SessionAction[];
}

/** The sequence of a site with `known` uploads; `before` is the one that it replaces. */
export function sequenceOf(site: Site, known: number, before?: UploadSequence): UploadSequence {
  const { inFlight = 0 } = before ?? {};
  const isForked = before?.ignored === "forked" && before.site !== site;
  const forked = isForked ? { forkedSite: before.site } : {};
  return { site, next: known + 1, inFlight, ignored: "none", ...forked };
}

/** Handles an upload that arrived. */
export function takeUpload(line: UploadSequence, message: UploadMessage): SequenceStep {
  const { number, digest, steps } = message;
  const { site, next } = line;
  // `known` is also 0 for a site of another user: only the store knows its uploads (S58).
  const isBehind = number > next && next > 1;
  if (line.ignored === "forked" || (isBehind && line.ignored === "gap"))
    return { line, actions: [] };
  if (isBehind) {
    const actions: SessionAction[] = [
      { kind: "send", message: { t: "site", site, known: next - 1 } },
    ];
    return { line: { ...line, ignored: "gap" }, actions };
  }
  const taken: UploadSequence = {
    ...line,
    next: Math.max(next, number + 1),
    inFlight: line.inFlight + 1,
    ignored: "none",
  };
  return { line: taken, actions: [{ kind: "upload", upload: { site, number, digest, steps } }] };
}

/** Handles the answer of the store to an upload. */
export function settleUpload(
  line: UploadSequence,
  site: Site,
  number: number,
  answer: UploadAnswer,
): SequenceStep {
  const settled = { ...line, inFlight: line.inFlight - 1 };
  // Uploads after a rejected one are rejected as well, and the peer knows.
  const isForked = line.forkedSite === site || (line.site === site && line.ignored === "forked");
  const isKnown = isForked || (line.site === site && line.ignored === "gap");
  switch (answer.kind) {
    case "taken": {
      const { txnId: txn, outcome: kind, reason } = answer.record;
      const { documents } = answer;
      const outcome = { site, number, kind, txn, reason, documents };
      return { line: settled, actions: [{ kind: "outcome", outcome }] };
    }
    case "forked":
      if (isForked) return { line: settled, actions: [] };
      return {
        line: line.site === site ? { ...settled, ignored: "forked" } : settled,
        actions: [{ kind: "send", message: { t: "forked", site, number } }],
      };
    case "unknown_site": {
      if (isKnown) return { line: settled, actions: [] };
      const { known } = answer;
      return {
        line: line.site === site ? { ...settled, next: known + 1, ignored: "gap" } : settled,
        actions: [{ kind: "send", message: { t: "site", site, known } }],
      };
    }
    default:
      return unreachable(answer);
  }
}
