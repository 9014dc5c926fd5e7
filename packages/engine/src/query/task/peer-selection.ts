/**
 * PEER_SELECTION: the task that selects the peers that a remote statement is for.
 */

import { type ChosenPeers, type PreparedRemote, prepareRemote } from "../command/remote.ts";
import type { RemoteRequest } from "../request.ts";
import { NOTHING_HELD } from "../run/time-slicer.ts";
import type { SystemRow } from "../system/system-collections.ts";
import type { Ready, TaskKind } from "./task-kind.ts";

export interface PeerSelection extends RemoteRequest {
  /** One for each peer. There may be thousands. */
  readonly rows: Iterable<SystemRow>;
}

export const PEER_SELECTION: TaskKind<PeerSelection, ChosenPeers, ChosenPeers> = {
  requestType: "remote_execute",
  isStatement: false,
  textOf: ({ statement }) => statement,
  labelOf: ({ statement }) => statement,
  prepare: (request, { budget, owner }, { slicer }) => {
    const { statement, authority, rows } = request;
    authority?.requirePeers();
    const made = slicer.take(prepareRemote(statement), budget, NOTHING_HELD, owner);
    return made instanceof Promise
      ? made.then((late) => readyWith(late, rows))
      : readyWith(made, rows);
  },
  countOf: ({ selected }) => selected.length,
  resultOf: ({ result }) => result,
};

function readyWith(
  { parameters, choose }: PreparedRemote,
  rows: Iterable<SystemRow>,
): Ready<ChosenPeers> {
  return {
    kind: "sync_context",
    queryType: "select",
    plan: undefined,
    parameters,
    access: [],
    work: { kind: "read", run: (execution) => choose(rows, execution) },
  };
}
