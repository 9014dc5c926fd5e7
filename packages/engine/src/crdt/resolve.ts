/**
 * Resolve: makes an operation independent of its writer's view, before it is sent to another store.
 *
 * The receiving store may have seen more or less than the writer. So the operation records what the
 * view decided: whether an insert starts clean, the birth that an increment adds to, that an UNSET
 * led through maps. An operation that wrote nothing at the writer must write nothing elsewhere, and
 * is not sent.
 */

import { type Edit, type UploadOperation, unreachable } from "@bigpeer/protocol";
import { birthOf, isCleanInsert, isSeedable, leadsThroughMaps } from "./edit.ts";
import { isShown } from "./show.ts";
import type { DocumentState } from "./state.ts";

/** The operation of a writer who saw `view`; undefined when it wrote nothing there. */
export function resolveOperation(
  view: DocumentState,
  operation: UploadOperation,
): UploadOperation | undefined {
  switch (operation.kind) {
    case "insert":
      if (operation.clean === true || !isCleanInsert(view, operation)) return operation;
      return { ...operation, clean: true };
    case "initial":
      return isSeedable(view) ? operation : undefined;
    case "update": {
      if (!isShown(view)) return undefined;
      const edits = operation.edits.flatMap((edit) => resolveEdit(view, edit) ?? []);
      return edits.length === 0 ? undefined : { ...operation, edits };
    }
    case "delete":
      return isShown(view) ? operation : undefined;
    default:
      return unreachable(operation);
  }
}

function resolveEdit(view: DocumentState, edit: Edit): Edit | undefined {
  switch (edit.kind) {
    case "increment": {
      if (edit.birth !== undefined) return edit;
      const { time, site } = birthOf(view, edit);
      return { ...edit, birth: [time, site] };
    }
    case "unset":
      if (!leadsThroughMaps(view, edit)) return undefined;
      // Elsewhere another variant may show on the path: for the writer it was a map.
      return edit.path.length > 1 ? { ...edit, isDeclared: true } : edit;
    case "set":
    case "restart":
      return edit;
    default:
      return unreachable(edit);
  }
}
