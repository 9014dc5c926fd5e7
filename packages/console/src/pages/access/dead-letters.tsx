/**
 * The dead letters of a webhook or a sink: deliveries that were given up. They can be read, sent
 * again, and discarded.
 */
import { listOf } from "../../api/list.ts";
import { request } from "../../api/request.ts";
import { useState, type VNode } from "../../kit/preact.ts";
import { useAction } from "../../kit/use-action.ts";
import { useLoad } from "../../kit/use-load.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Empty } from "../../ui/empty.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { showToast } from "../../ui/toast.tsx";
import { plural } from "../../values/show-value.ts";

interface DeadLetter {
  readonly id: string;
  readonly at: string;
  readonly attempts: number;
  readonly error: string;
  readonly changes: number;
}

interface Resent {
  readonly delivered: number;
  readonly left: number;
  readonly error: string | null;
}

export interface DeadLettersProps {
  readonly name: string;
  /** Of the webhook or sink. */
  readonly path: string;
  readonly onClose: () => void;
  readonly onChange: () => Promise<void>;
}

export function DeadLetters({ name, path, onClose, onChange }: DeadLettersProps): VNode {
  const letters = `${path}/deadLetter`;
  const { value, error, reload } = useLoad(path, (signal) => listOf<DeadLetter>(letters, signal));
  const [shown, setShown] = useState<string>();
  const action = useAction();
  const change = (method: "POST" | "DELETE", at: string): void => {
    void action.run(async () => {
      const answer = await request<Resent | null>(at, { method });
      if (answer !== null) showToast(resentToast(answer));
      await Promise.all([reload(), onChange()]);
    });
  };
  return (
    <Dialog
      title={`Dead letters of ${name}`}
      size="large"
      onClose={onClose}
      footer={
        <Button
          kind="primary"
          isDisabled={action.isRunning || (value?.length ?? 0) === 0}
          onClick={() => change("POST", `${path}/retry`)}
        >
          Send all again
        </Button>
      }
    >
      <ErrorMessage error={error ?? action.error} />
      {value === undefined ? null : (
        <LetterTable
          letters={value}
          onShow={setShown}
          onRetry={(id) => change("POST", `${letters}/${id}/retry`)}
          onDiscard={(id) => change("DELETE", `${letters}/${id}`)}
        />
      )}
      {shown === undefined ? null : <Payload key={shown} path={`${letters}/${shown}`} />}
    </Dialog>
  );
}

function resentToast({ delivered, left, error }: Resent): { text: string; kind: "ok" | "error" } {
  if (error === null) return { text: `${plural(delivered, "dead letter")} sent.`, kind: "ok" };
  return {
    text: `${plural(delivered, "dead letter")} sent, ${left} left: ${error}`,
    kind: "error",
  };
}

interface LetterTableProps {
  readonly letters: readonly DeadLetter[];
  readonly onShow: (id: string) => void;
  readonly onRetry: (id: string) => void;
  readonly onDiscard: (id: string) => void;
}

function LetterTable({ letters, onShow, onRetry, onDiscard }: LetterTableProps): VNode {
  return (
    <Table
      label="Dead letters"
      rows={letters}
      keyOf={({ id }) => id}
      empty={<Empty title="There are no dead letters." />}
      columns={[
        { title: "Since", cell: ({ at }) => <Time at={at} /> },
        { title: "Changes", isNumber: true, cell: ({ changes }) => changes },
        { title: "Attempts", isNumber: true, cell: ({ attempts }) => attempts },
        { title: "Last error", cell: ({ error }) => error },
        {
          title: "Actions",
          isTitleHidden: true,
          cell: ({ id }) => (
            <span class="row-actions">
              <Button kind="quiet" onClick={() => onShow(id)}>
                Show
              </Button>
              <Button kind="quiet" onClick={() => onRetry(id)}>
                Send again
              </Button>
              <IconButton label="Discard" icon="trash" onClick={() => onDiscard(id)} />
            </span>
          ),
        },
      ]}
    />
  );
}

function Payload({ path }: { readonly path: string }): VNode {
  const { value, error } = useLoad(path, (signal) =>
    request<{ readonly payload: unknown }>(path, { signal }),
  );
  return (
    <>
      <ErrorMessage error={error} />
      {value === undefined ? null : <JsonView label="Payload" value={value.payload} />}
    </>
  );
}
