/**
 * uploadChecker: checks the uploads of a small peer against the permissions of its session.
 *
 * Each operation is checked like the equivalent statement, on the state of the server when it is
 * applied. Its writer has not seen that state, so the operation may lose to a newer write. It is
 * checked by its result, and also as if it were the newest write: otherwise a writer without
 * permission could retry until a write wins (P10 to P13, P17).
 */

import {
  getField,
  isObject,
  PeerError,
  type UploadOperation,
  unreachable,
} from "@bigpeer/protocol";
import { deltaOf } from "../../crdt/edit.ts";
import { merge } from "../../crdt/merge.ts";
import { show } from "../../crdt/show.ts";
import { EMPTY_STATE } from "../../crdt/state.ts";
import { DOCUMENT_SIZE_MAX, RESULT_BYTES_MAX, STATEMENT_MS_MAX } from "../../limits.ts";
import type { Platform } from "../../platform.ts";
import { AT_ONCE, StepClock, type Steps } from "../../steps.ts";
import type { OperationOutcome } from "../../store/applier.ts";
import { addTokens } from "../../store/attachment-tokens.ts";
import type { CheckedStep, CheckStep, CheckUpload } from "../../store/upload.ts";
import type { StoredDocument, View } from "../../store/view.ts";
import { Fault } from "../fault.ts";
import { Budget } from "../frame/budget.ts";
import type { Authority } from "../permission/authority.ts";
import type { CollectionUse } from "../permission/collection-use.ts";
import { documentDenied } from "../permission/denial.ts";
import type { PermissionChecker } from "../permission/permission-checker.ts";
import { Warnings } from "../run/warnings.ts";
import {
  checkDocumentSize,
  checkStamps,
  isFarFromLimits,
  LAST,
  type SizeLimits,
  sizeOfWrite,
} from "./document-size.ts";
import { checkMetaSizes, metaSizes, UploadCost } from "./upload-cost.ts";

export interface UploadCheckOptions {
  readonly platform: Platform;
  readonly appId: string;
  /** Permissions of the session when the upload is applied; undefined means everything. */
  readonly authority: () => Authority | undefined;
}

/** Creates the check of the uploads of one session. */
export function uploadChecker(options: UploadCheckOptions): CheckUpload {
  return () => {
    // Pauses do not count against the time limit.
    const clock = new StepClock(() => options.platform.elapsed());
    const checker = checkerOf(options, clock);
    const cost = new UploadCost();
    const checkStep: CheckStep = function* checkStep(step, apply) {
      try {
        for (const [i, operation] of step.operations.entries()) {
          if (i % AT_ONCE === 0) yield;
          refuseId(operation);
        }
        if (checker === undefined) yield* checkSizes(step);
        else yield* checkBefore(step, checker);
        yield* cost.spend(step);
        const sizes = yield* metaSizes(step);
        const outcomes = yield* apply();
        if (checker !== undefined) yield* checkAfter(step, checker, outcomes);
        yield* checkMetaSizes(step, sizes);
        checkStamps(step.transaction);
        return outcomes;
      } catch (error) {
        throw refusalOf(error);
      }
    };
    return (step, apply) => clock.time(checkStep(step, apply));
  };
}

function checkerOf(
  { platform, appId, authority }: UploadCheckOptions,
  clock: StepClock,
): PermissionChecker | undefined {
  const rights = authority();
  if (rights === undefined || rights.isFull) return undefined;
  const elapsed = (): number => clock.now();
  const limits = { timeMsMax: STATEMENT_MS_MAX, bytesMax: RESULT_BYTES_MAX };
  const budget = new Budget({ elapsed, ...limits });
  const request = { id: "", appId, startMs: platform.now() };
  return rights.checker({ args: {}, platform, budget, request });
}

const SIZE_LIMITS: SizeLimits = { soft: DOCUMENT_SIZE_MAX, hard: DOCUMENT_SIZE_MAX };

/** No write changes an id, and no statement can express it. */
function refuseId(operation: UploadOperation): void {
  if (operation.kind === "delete" || !writesId(operation)) return;
  throw new PeerError("operation.invalid", "expected fields without _id");
}

function writesId(operation: Exclude<UploadOperation, { kind: "delete" }>): boolean {
  if (operation.kind !== "update") return getField(operation.fields, "_id") !== undefined;
  return operation.edits.some(({ path, ...edit }) => {
    if (path.length > 0) return path[0] === "_id";
    return edit.kind === "set" && isObject(edit.value) && getField(edit.value, "_id") !== undefined;
  });
}

function* checkSizes({ transaction, operations }: CheckedStep): Steps<void> {
  const { view } = transaction;
  for (const operation of operations) {
    yield;
    yield* checkSize(operation, view.get(operation.collection, operation.id), transaction);
  }
}

function* checkSize(
  operation: UploadOperation,
  before: StoredDocument | undefined,
  transaction: CheckedStep["transaction"],
): Steps<void> {
  if (operation.kind === "delete") return;
  const write = { operation, before };
  const size = sizeOfWrite(write);
  if (isFarFromLimits(write, size, SIZE_LIMITS)) return;
  yield* checkDocumentSize(write, size, SIZE_LIMITS, { transaction, warnings: new Warnings() });
}

function* checkBefore(
  { transaction, operations }: CheckedStep,
  checker: PermissionChecker,
): Steps<void> {
  const { view } = transaction;
  const tokens = new Set<string>();
  for (const operation of operations) {
    yield;
    const { collection, id } = operation;
    checker.authority.require(usesOf(operation));
    const before = transaction.get(collection, id);
    if (before !== undefined) checker.requireWritable(collection, before);
    requireWritten(imageAsLast(operation, view, checker), collection, checker);
    // Not earlier: the size of a document is hidden from callers who may not read it.
    yield* checkSize(operation, before, transaction);
    if (!checker.authority.isReadingAll) addTokens(operation, tokens);
  }
  // Before the write: after it, the document itself would refer to them.
  for (const token of tokens) {
    yield;
    checker.requireAttachment(token, view);
  }
}

function* checkAfter(
  { transaction, operations }: CheckedStep,
  checker: PermissionChecker,
  outcomes: readonly OperationOutcome[],
): Steps<void> {
  for (const [i, { kind, collection, id }] of operations.entries()) {
    yield;
    // In the same words as for an unreadable document.
    if (kind === "update" && outcomes[i] === "missing") throw documentDenied(collection);
    requireWritten(transaction.view.get(collection, id), collection, checker);
  }
}

/** Updates and deletes also read their collection (P6). */
function usesOf({ kind, collection }: UploadOperation): readonly CollectionUse[] {
  const write: CollectionUse = { kind: "write", collection };
  const isNew = kind === "insert" || kind === "initial";
  return isNew ? [write] : [{ kind: "read", collection }, write];
}

function requireWritten(
  image: StoredDocument | undefined,
  collection: string,
  checker: PermissionChecker,
): void {
  if (image !== undefined && !checker.mayWrite(collection, image)) throw documentDenied(collection);
}

/** The document as the operation would leave it if it were the newest; undefined for none. */
function imageAsLast(
  operation: UploadOperation,
  view: View,
  checker: PermissionChecker,
): StoredDocument | undefined {
  const { kind, collection, id } = operation;
  if (kind === "delete" || checker.authority.writeRule(collection).isWhole) return undefined;
  const { state } = view.state(collection, id);
  const seen = kind === "initial" ? EMPTY_STATE : state;
  const delta = deltaOf(seen, operation, LAST);
  const shown = delta === undefined ? undefined : show(merge(state, delta));
  if (shown !== undefined) return { id, ...shown };
  switch (kind) {
    case "insert":
    case "initial":
      return { id, fields: operation.fields, types: operation.types };
    case "update":
      return undefined;
    default:
      return unreachable(kind);
  }
}

/** The permanent refusal of an upload; other errors are not caused by its content. */
function refusalOf(error: unknown): unknown {
  if (error instanceof Fault) {
    const isDenied = error.code === "permission.denied";
    return new PeerError(isDenied ? error.code : "operation.refused", error.message);
  }
  if (error instanceof PeerError && error.code.startsWith("query.")) {
    return new PeerError("operation.refused", "the permissions took too long to judge the upload");
  }
  return error;
}
