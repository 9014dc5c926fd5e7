/**
 * Edits of documents: runs them, remembers how the last one is undone, and says what was done.
 */
import { loadDocument } from "../../api/documents.ts";
import { execute } from "../../api/execute.ts";
import { ApiError } from "../../api/request.ts";
import { type Edit, type EditStatement, inverseOf, statementOf } from "../../data/edit.ts";
import type { TypedField } from "../../data/typed-fields.ts";
import { type Signal, signal } from "../../kit/preact.ts";
import { showToast } from "../../ui/toast.tsx";

/** Counts the changes, so that what is shown is read again. */
export const dataVersion: Signal<number> = signal(0);

interface Undoable {
  readonly app: string;
  readonly edit: Edit;
}

/** The edit that takes the last one back. */
export const undoable: Signal<Undoable | undefined> = signal(undefined);

export function dataChanged(): void {
  dataVersion.value++;
}

/** Throws an `ApiError`. */
export async function runEdit(app: string, edit: Edit): Promise<void> {
  const inverse = inverseOf(edit, await fieldsBefore(app, edit));
  await runStatement(app, statementOf(edit));
  const done = inverse && { app, edit: inverse };
  undoable.value = done;
  const action = done && { title: "Undo", run: () => void undo(done) };
  showToast({ text: edit.title, ...(action && { action }) });
}

/** As the server has them now, which may be newer than what is shown: undo must not lose that. */
async function fieldsBefore(app: string, edit: Edit): Promise<readonly TypedField[]> {
  const { kind } = edit.change;
  if (kind === "insert" || kind === "increment") return [];
  const fields = await loadDocument(app, edit);
  if (fields !== undefined) return fields;
  dataChanged();
  throw notThere();
}

async function runStatement(app: string, { text, args, next }: EditStatement): Promise<void> {
  try {
    const { mutatedDocumentIds } = await execute(app, text, { args });
    if (mutatedDocumentIds.length === 0) throw notThere();
    if (next !== undefined) await runStatement(app, next);
  } finally {
    dataChanged();
  }
}

function notThere(): ApiError {
  return new ApiError(404, "NotFound", "the document no longer exists");
}

export async function undoLast(): Promise<void> {
  if (undoable.value !== undefined) await undo(undoable.value);
}

/** Those that were taken back: the message of an edit stays for a while. */
const undone = new WeakSet<Undoable>();

/** After a failure it can be tried again. */
async function undo(done: Undoable): Promise<void> {
  if (undone.has(done)) return;
  undone.add(done);
  const isLast = undoable.value === done;
  if (isLast) undoable.value = undefined;
  try {
    await runStatement(done.app, statementOf(done.edit));
    showToast({ text: done.edit.title });
  } catch (error) {
    undone.delete(done);
    if (isLast) undoable.value ??= done;
    showToast({ text: `Failed to undo: ${ApiError.from(error).message}`, kind: "error" });
  }
}
