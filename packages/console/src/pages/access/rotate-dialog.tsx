/**
 * Gives an API key a new text. The old one may work for a while longer.
 */
import { request } from "../../api/request.ts";
import { ofApp } from "../../api/session.ts";
import { useState, type VNode } from "../../kit/preact.ts";
import { useAction } from "../../kit/use-action.ts";
import { SelectField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";

const GRACE_TIMES = [
  { value: "0", title: "ends at once" },
  { value: "3600", title: "works for an hour" },
  { value: "86400", title: "works for a day" },
  { value: "604800", title: "works for a week" },
];

export interface RotateDialogProps {
  readonly app: string;
  readonly name: string;
  readonly onClose: () => void;
  readonly onRotated: (name: string, text: string) => void;
}

export function RotateDialog({ app, name, onClose, onRotated }: RotateDialogProps): VNode {
  const [grace, setGrace] = useState("3600");
  const action = useAction();
  const rotate = async (): Promise<void> => {
    const body = { graceSeconds: Number(grace) };
    const path = ofApp(app, `/apiKey/${name}/rotate`);
    onRotated(name, await request<string>(path, { method: "POST", body }));
  };
  return (
    <FormDialog
      title={`Rotate the key ${name}`}
      action="Make a new text"
      size="small"
      state={action}
      onClose={onClose}
      onSubmit={() => void action.run(rotate)}
    >
      <p>The key keeps its permissions and its devices. Give them the new text.</p>
      <SelectField label="The old text" value={grace} choices={GRACE_TIMES} onChange={setGrace} />
    </FormDialog>
  );
}
