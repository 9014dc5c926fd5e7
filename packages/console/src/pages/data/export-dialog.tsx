/**
 * Export of a collection as a file, with progress.
 */
import { ApiError } from "../../api/request.ts";
import { exportFile, type FileFormat } from "../../api/transfer.ts";
import { useEffect, useState, type VNode } from "../../kit/preact.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { SelectField } from "../../ui/field.tsx";
import { plural } from "../../values/show-value.ts";

const FORMATS: readonly { readonly value: FileFormat; readonly title: string }[] = [
  { value: "ndjson", title: "NDJSON: a document on each line" },
  { value: "csv", title: "CSV: a column for each field" },
];

export interface ExportDialogProps {
  readonly app: string;
  readonly collection: string;
  readonly onClose: () => void;
}

export function ExportDialog({ app, collection, onClose }: ExportDialogProps): VNode {
  const [format, setFormat] = useState<FileFormat>("ndjson");
  const [count, setCount] = useState<number>();
  const [error, setError] = useState<ApiError>();
  const [isRunning, setRunning] = useState(false);
  const [controller] = useState(() => new AbortController());
  useEffect(() => () => controller.abort(), []);
  const start = async (): Promise<void> => {
    setRunning(true);
    setError(undefined);
    try {
      const { signal } = controller;
      const file = await exportFile({ app, collection, format, signal, onProgress: setCount });
      save(file, `${collection}.${format}`);
    } catch (fault) {
      if (!controller.signal.aborted) setError(ApiError.from(fault));
    }
    setRunning(false);
  };
  return (
    <Dialog
      title={`Export ${collection}`}
      size="small"
      onClose={onClose}
      onSubmit={() => void start()}
      footer={
        <>
          <Button onClick={onClose}>Close</Button>
          <Button isSubmit kind="primary" isDisabled={isRunning}>
            Export
          </Button>
        </>
      }
    >
      <SelectField
        label="Format"
        value={format}
        choices={FORMATS}
        onChange={(next) => setFormat(next as FileFormat)}
      />
      {count === undefined ? null : (
        <p role="status">
          {isRunning ? "" : "Exported "}
          {plural(count, "document")}
        </p>
      )}
      <ErrorMessage error={error} />
    </Dialog>
  );
}

function save(file: Blob, name: string): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), REVOKE_MS);
}

/** The browser has begun to save by then. */
const REVOKE_MS = 60_000;
