/**
 * Content failure: the reason for the metrics why the transfer of a content failed.
 */

import { isFullError } from "@bigpeer/node";
import { PeerError } from "@bigpeer/protocol";
import { CutOff } from "../http/http-request.ts";
import { Refusal } from "../http/refusal.ts";
import type { ContentFailure } from "../observability/content-metrics.ts";

export function contentFailure(error: unknown): ContentFailure {
  if (error instanceof CutOff) return "cut";
  if (isFullError(error)) return "full";
  if (error instanceof Refusal) return ofStatus(error.status);
  return error instanceof PeerError ? ofCode(error) : "failed";
}

function ofStatus(status: number): ContentFailure {
  if (status === 408) return "slow";
  if (status === 413) return "too_large";
  return status === 400 ? "malformed" : "failed";
}

function ofCode({ code }: PeerError): ContentFailure {
  if (code === "store.full") return "full";
  if (code === "attachment.too_large") return "too_large";
  if (code === "attachment.invalid") return "digest";
  if (code === "store.closed") return "closing";
  return code === "store.busy" || code.startsWith("cluster.") ? "busy" : "failed";
}
