/**
 * takeUpload: receives an upload of another site and commits it exactly once, or records that it was
 * refused. Only stores that peers sync with do that.
 */

import { PeerError, type Site } from "@bigpeer/protocol";
import type { Platform } from "../platform.ts";
import type { Steps } from "../steps.ts";
import type { UploadRecord, Writer } from "./records.ts";
import { isServerSite } from "./server-sites.ts";
import type { Store } from "./store.ts";
import type { Transaction } from "./transaction.ts";
import {
  answerFromRecord,
  applyUpload,
  type CheckUpload,
  checkEnvelope,
  checkSteps,
  documentsOf,
  lastNumberOf,
  lastTimeOf,
  markOf,
  takenUpload,
  type Upload,
  type UploadAnswer,
  type UploadedDocument,
} from "./upload.ts";

/** Result of an evaluated upload, before it has a transaction id. */
interface AppliedUpload extends Pick<UploadRecord, "outcome" | "reason"> {
  readonly documents: readonly UploadedDocument[];
}

/** Who sent an upload. */
export interface Sender {
  /** The credential: a site belongs to the first sender (K63). Left out, to none. */
  readonly owner?: string | undefined;
  /** The same for readers of the log. */
  readonly by?: Writer | undefined;
}

/**
 * Applies an upload of another site exactly once, in the order of the calls. `check` may refuse it;
 * left out, everything is permitted.
 */
export async function takeUpload(
  store: Store,
  upload: Upload,
  check?: CheckUpload,
  { owner, by }: Sender = {},
): Promise<UploadAnswer> {
  checkEnvelope(upload);
  if (upload.site === store.identity.site) return { kind: "forked" };
  const taken = store.transactInSteps(
    (transaction) => evaluate(transaction, store.platform, { upload, check, owner }),
    { by },
  );
  const { txnId, result } = await store.answered(taken);
  if ("kind" in result) return result;
  const { documents, ...outcome } = result;
  return takenUpload({ digest: upload.digest, txnId, ...outcome }, documents, false);
}

/**
 * The number of the last durable upload of a site; 0 when there is none, or when the site belongs to
 * another than `owner`.
 */
export function lastUploadOf(store: Store, site: Site, owner?: string): number {
  return store.read((snapshot) => lastNumberOf(snapshot, site, owner));
}

interface Offered {
  readonly upload: Upload;
  readonly check: CheckUpload | undefined;
  readonly owner: string | undefined;
}

/** Takes an upload by its number: applies it, or records it as refused. */
function* evaluate(
  transaction: Transaction,
  platform: Platform,
  { upload, check, owner }: Offered,
): Steps<UploadAnswer | AppliedUpload> {
  // A counter keeps one sum for each site: that of the Big Peer would be lost (K75).
  if (isServerSite(transaction.view, upload.site)) return { kind: "forked" };
  const known = yield* answerFromRecord(transaction.view, platform, upload, owner);
  if (known !== undefined) return known;
  const last = lastTimeOf(transaction.view, upload.site);
  try {
    const steps = yield* checkSteps(upload);
    const outcomes = yield* applyUpload(transaction, { site: upload.site, steps }, check?.());
    const time = steps.at(-1)?.time ?? last;
    transaction.markUpload(markOf(transaction.view, upload, { time, owner }));
    const outcome = outcomes.includes("stale") ? "stale" : "applied";
    return { outcome, reason: "", documents: yield* documentsOf(upload.steps) };
  } catch (error) {
    if (!isRefusal(error)) throw error;
    // In the same evaluation, so that the next upload of the site finds its number taken.
    transaction.restart();
    const mark = markOf(transaction.view, upload, { time: last, owner });
    transaction.markUpload(mark, error.message);
    return { outcome: "refused", reason: error.message, documents: [] };
  }
}

/** Whether the content is at fault, so that the upload is refused for good. */
function isRefusal(error: unknown): error is PeerError {
  return (
    error instanceof PeerError &&
    (error.code.startsWith("operation.") ||
      error.code === "permission.denied" ||
      error.code === "value.invalid" ||
      error.code === "id.invalid")
  );
}
