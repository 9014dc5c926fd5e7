/**
 * Import of a file: NDJSON or CSV, in batches, with progress. It can be cancelled; what was written
 * stays.
 */
import { ApiError } from "../../api/request.ts";
import {
  type ConflictPolicy,
  type FileFormat,
  type ImportProgress,
  importFile,
} from "../../api/transfer.ts";
import { useEffect, useState, type VNode } from "../../kit/preact.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { Field, SelectField, TextField } from "../../ui/field.tsx";
import { countText, plural } from "../../values/show-value.ts";
import { dataChanged } from "./edits.ts";

const POLICIES: readonly { readonly value: ConflictPolicy; readonly title: string }[] = [
  { value: "FAIL", title: "stop with an error" },
  { value: "DO NOTHING", title: "keep the document that is there" },
  { value: "DO UPDATE", title: "write the fields of the file over it" },
];

const FORMATS: readonly { readonly value: FileFormat; readonly title: string }[] = [
  { value: "ndjson", title: "NDJSON: a document on each line" },
  { value: "csv", title: "CSV: a line of names first" },
];

export interface ImportDialogProps {
  readonly app: string;
  /** Undefined asks for it. */
  readonly collection?: string;
  readonly onClose: () => void;
}

export function ImportDialog({ app, collection: given, onClose }: ImportDialogProps): VNode {
  const [collection, setCollection] = useState(given ?? "");
  const [file, setFile] = useState<File>();
  const [format, setFormat] = useState<FileFormat>("ndjson");
  const [policy, setPolicy] = useState<ConflictPolicy>("FAIL");
  const { state, start } = useImport();
  const isReady = file !== undefined && collection !== "" && state.controller === undefined;
  const choose = (chosen: File | undefined): void => {
    setFile(chosen);
    setFormat(chosen?.name.toLowerCase().endsWith(".csv") === true ? "csv" : "ndjson");
    if (collection === "") setCollection(chosen?.name.replace(/\..*$/, "") ?? "");
  };
  return (
    <Dialog
      title="Import"
      onClose={onClose}
      onSubmit={() => {
        if (file !== undefined) void start({ app, collection, file, format, policy });
      }}
      footer={
        <>
          <Button onClick={onClose}>{state.isDone ? "Close" : "Cancel"}</Button>
          <Button isSubmit kind="primary" isDisabled={!isReady}>
            Import
          </Button>
        </>
      }
    >
      <Field
        label="File"
        control={(attributes) => (
          <input
            {...attributes}
            type="file"
            class="input file"
            accept=".ndjson,.jsonl,.json,.csv"
            onChange={(event) => choose(event.currentTarget.files?.[0])}
          />
        )}
      />
      {given === undefined ? (
        <TextField
          label="Collection"
          isCode
          value={collection}
          onInput={setCollection}
          isRequired
        />
      ) : null}
      <SelectField
        label="Format"
        value={format}
        choices={FORMATS}
        onChange={(next) => setFormat(next as FileFormat)}
      />
      <SelectField
        label="If an _id is there already"
        value={policy}
        choices={POLICIES}
        onChange={(next) => setPolicy(next as ConflictPolicy)}
      />
      <Progress progress={state.progress} isDone={state.isDone} />
      <ErrorMessage error={state.error} />
    </Dialog>
  );
}

interface ImportState {
  readonly progress?: ImportProgress;
  readonly error?: ApiError;
  readonly isDone?: boolean;
  /** While it runs. */
  readonly controller?: AbortController;
}

type Chosen = Omit<Parameters<typeof importFile>[0], "signal" | "onProgress">;

function useImport(): { state: ImportState; start: (chosen: Chosen) => Promise<void> } {
  const [state, setState] = useState<ImportState>({});
  useEffect(() => () => state.controller?.abort(), [state.controller]);
  const start = async (chosen: Chosen): Promise<void> => {
    const controller = new AbortController();
    let last: ImportProgress = { read: 0, written: 0, share: 0 };
    setState({ controller, progress: last });
    const onProgress = (progress: ImportProgress): void => {
      last = progress;
      setState({ controller, progress });
    };
    try {
      const progress = await importFile({ ...chosen, signal: controller.signal, onProgress });
      setState({ progress: { ...progress, share: 1 }, isDone: true });
    } catch (error) {
      if (!controller.signal.aborted) setState({ progress: last, error: ApiError.from(error) });
    }
    dataChanged();
  };
  return { state, start };
}

interface ProgressProps {
  readonly progress: ImportProgress | undefined;
  readonly isDone: boolean | undefined;
}

function Progress({ progress, isDone = false }: ProgressProps): VNode | null {
  if (progress === undefined) return null;
  const { read, written, share } = progress;
  return (
    <div class="transfer-progress">
      <progress value={share} max={1} aria-label="Progress of the import" />
      <p role="status">
        {isDone ? "Imported " : ""}
        {plural(written, "document")}
        {read === written ? "" : `, of ${countText(read)} read`}
      </p>
    </div>
  );
}
