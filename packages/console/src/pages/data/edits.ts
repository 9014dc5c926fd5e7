/**
 * Edits of documents: runs them, remembers how the last one is undone, and says what was done.
 */
import { execute, rowsOf } from "../../api/execute.ts";
import { ApiError } from "../../api/request.ts";
import { type Edit, inverseOf, statementOf } from "../../data/edit.ts";
import type { TypedField } from "../../data/typed-fields.ts";
import { type Signal, signal } from "../../kit/preact.ts";
import { showToast } from "../../ui/toast.tsx";
import { pathText, quoteName } from "../../values/names.ts";

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

/** `fields` are those of the document before the edit. Throws an `ApiError`. */
export async function runEdit(
  app: string,
  edit: Edit,
  fields: readonly TypedField[],
): Promise<void> {
  const { text, args } = statementOf(edit);
  const { mutatedDocumentIds } = await execute(app, text, { args });
  dataChanged();
  if (mutatedDocumentIds.length === 0) {
    throw new ApiError(404, "NotFound", "the document no longer exists");
  }
  const inverse = inverseOf(edit, fields);
  undoable.value = inverse && { app, edit: inverse };
  const action = inverse && { title: "Undo", run: () => void undoLast() };
  showToast({ text: edit.title, ...(action && { action }) });
}

export async function undoLast(): Promise<void> {
  const last = undoable.value;
  if (last === undefined) return;
  undoable.value = undefined;
  const { text, args } = statementOf(last.edit);
  try {
    await execute(last.app, text, { args });
    showToast({ text: last.edit.title });
  } catch (error) {
    showToast({ text: `Failed to undo: ${ApiError.from(error).message}`, kind: "error" });
  }
  dataChanged();
}

export interface FieldPlace {
  readonly collection: string;
  readonly id: unknown;
  readonly path: readonly string[];
}

/** Whether a counter is of the older kind, which has an increment of its own. */
export async function isOldCounter(
  app: string,
  { collection, id, path }: FieldPlace,
): Promise<boolean> {
  const has = async (type: string): Promise<boolean> => {
    const inner = path.toReversed().reduce((text, step, i) => {
      return i === 0 ? `${quoteName(step)} ${type}` : `${quoteName(step)} MAP (${text})`;
    }, "");
    const text = `SELECT ${pathText(path)} AS v FROM COLLECTION ${quoteName(collection)} (${inner}) WHERE _id = :id`;
    const [row] = await rowsOf(app, text, { args: { id } });
    return row?.["v"] !== undefined;
  };
  return !(await has("COUNTER")) && (await has("PN_COUNTER"));
}
