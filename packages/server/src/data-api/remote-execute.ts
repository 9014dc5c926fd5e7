/**
 * `POST /sync/remote_execute`: runs a statement on connected peers of the app (H32).
 *
 * The answer has one item for each selected peer, also for one that failed. If no connected peer
 * matches, the result is empty. An invalid statement is 400 and reaches no peer. Too many runs at a
 * time are 503, because a retry helps. Too many peers are an `error` beside an empty result: a
 * retry does not help.
 */

import type { RunWarning, Value } from "@bigpeer/protocol";
import { unauthorized } from "../auth/unauthorized.ts";
import type { RemoteAnswer } from "../sync/fitting-answers.ts";
import type { RemoteOutcome } from "../sync/remote-execution.ts";
import type { Operation } from "./operation.ts";
import { checkRemoteExecuteRequest, type QueryRequest } from "./schemas.ts";

/** Field with the rows of one peer, which may be megabytes. */
const INNER_LIST = "items";

export const REMOTE_EXECUTE: Operation<QueryRequest> = {
  name: "remote_execute",
  path: "/sync/remote_execute",
  check: checkRemoteExecuteRequest,
  unreachedStatus: undefined,
  run: async ({ statement, args }, { app, credential, request }, { remote }) => {
    if (!credential.mayAskPeers) {
      throw unauthorized("the credential lacks the permission for this operation");
    }
    const onHangUp = (leave: () => void): (() => void) => request.onHangUp(leave);
    const { id: requestId, remoteAddress } = request;
    const call = { app, credential, requestId, remoteAddress, statement, args, onHangUp };
    const outcome = await remote.run(call);
    // The statement has run, so its results are sent whatever their size. They have limits of their
    // own.
    const isApplied = outcome.kind === "done";
    return { body: responseOf(outcome), isApplied, innerList: INNER_LIST };
  },
};

function responseOf(outcome: RemoteOutcome): Value {
  if (outcome.kind === "done") return { result: outcome.answers.map(itemOf) };
  return { result: [], error: { description: outcome.description } };
}

function itemOf(answer: RemoteAnswer): Value {
  const { report, items, elapsedMs, warnings, totalWarnings, error } = answer;
  const { description, identity } = report;
  return {
    peer: {
      peerKeyString: description.key,
      deviceName: description.deviceName,
      peerMetadata: description.metadata,
      identityServiceMetadata: identity,
    },
    items,
    elapsedMilliseconds: elapsedMs,
    warnings: warnings.map(warningValue),
    totalWarningsCount: totalWarnings,
    ...(error !== undefined && { error: { description: `${error.message} (${error.code})` } }),
  };
}

function warningValue({ description, id }: RunWarning): Value {
  return id === undefined ? { description } : { description, _id: id };
}
