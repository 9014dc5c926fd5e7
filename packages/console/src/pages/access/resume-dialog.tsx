/**
 * Resumes a webhook or a sink: where it stopped, or elsewhere when that is no longer possible.
 */
import { request } from "../../api/request.ts";
import { useState, type VNode } from "../../kit/preact.ts";
import { useAction } from "../../kit/use-action.ts";
import { ChoiceField } from "../../ui/choice.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { deliveryWords, type WatchedDestination } from "./destination-form.ts";

const PLACES = [
  { value: "position", title: "where it stopped" },
  { value: "now", title: "at now" },
  { value: "oldest", title: "at the oldest change of the log" },
];

export interface ResumeDialogProps {
  readonly destination: WatchedDestination;
  readonly path: string;
  readonly onClose: () => void;
  readonly onDone: () => Promise<void>;
}

export function ResumeDialog({ destination, path, onClose, onDone }: ResumeDialogProps): VNode {
  const { name, status } = destination;
  const [from, setFrom] = useState("position");
  const action = useAction();
  const resume = async (): Promise<void> => {
    const body = from === "position" ? {} : { from };
    await request(`${path}/resume`, { method: "POST", body });
    await onDone();
    onClose();
  };
  return (
    <FormDialog
      title={`Resume ${name}`}
      action="Resume"
      size="small"
      state={action}
      onClose={onClose}
      onSubmit={() => void action.run(resume)}
    >
      {status === undefined ? null : (
        <p>It is paused: {deliveryWords(status, Date.now()).title}.</p>
      )}
      <ChoiceField label="Resume" value={from} choices={PLACES} onChange={setFrom} />
    </FormDialog>
  );
}
