/**
 * Creates a webhook or a sink, or changes one.
 */
import { useCollectionNames } from "../../api/collection-names.ts";
import { request } from "../../api/request.ts";
import { ofApp } from "../../api/session.ts";
import { useState, type VNode } from "../../kit/preact.ts";
import { useAction } from "../../kit/use-action.ts";
import { Checkbox, TextArea, TextField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import {
  changeBody,
  type Destination,
  type DestinationForm,
  type DestinationKind,
  destinationForm,
  EVENTS,
  type EventName,
  NEW_DESTINATION,
  newBody,
} from "./destination-form.ts";

export interface DestinationDialogProps {
  readonly app: string;
  readonly kind: DestinationKind;
  /** The one to change; a new one without it. */
  readonly destination?: Destination;
  readonly onClose: () => void;
  /** Gets the secret that the server has made. */
  readonly onSaved: (name: string, secret: string | undefined) => Promise<void>;
}

export function DestinationDialog(props: DestinationDialogProps): VNode {
  const { app, kind, destination, onClose, onSaved } = props;
  const [form, setForm] = useState<DestinationForm>(() =>
    destination === undefined ? NEW_DESTINATION : destinationForm(destination),
  );
  const change = (changes: Partial<DestinationForm>): void => setForm({ ...form, ...changes });
  const collections = useCollectionNames(app);
  const action = useAction();
  const isNew = destination === undefined;
  const save = async (): Promise<void> => {
    const path = ofApp(app, `/${kind}`);
    if (!isNew) {
      const own = `${path}/${destination.name}`;
      await request(own, { method: "PATCH", body: changeBody(kind, form) });
      return onSaved(destination.name, undefined);
    }
    const body = newBody(kind, form);
    const made = await request<{ readonly secret?: string }>(path, { method: "POST", body });
    return onSaved(form.name.trim(), form.secret.trim() === "" ? made.secret : undefined);
  };
  return (
    <FormDialog
      title={isNew ? `New ${kind}` : `${kind === "webhook" ? "Webhook" : "Sink"} ${form.name}`}
      action={isNew ? "Create" : "Save"}
      state={action}
      isDisabled={form.name.trim() === "" || form.collection.trim() === ""}
      onClose={onClose}
      onSubmit={() => void action.run(save)}
    >
      {isNew ? (
        <TextField
          label="Name"
          autofocus
          hint="Lowercase letters, digits and -"
          value={form.name}
          onInput={(name) => change({ name })}
        />
      ) : null}
      {kind === "webhook" ? (
        <WebhookFields form={form} isNew={isNew} onChange={change} />
      ) : (
        <SinkFields form={form} isNew={isNew} onChange={change} />
      )}
      <div class="form-grid">
        <TextField
          label="Collection"
          list={collections}
          value={form.collection}
          onInput={(collection) => change({ collection })}
        />
        <TextField
          label="Query (optional)"
          isCode
          placeholder="status == 'paid'"
          value={form.query}
          onInput={(query) => change({ query })}
        />
      </div>
      <EventFields events={form.events} onChange={(events) => change({ events })} />
    </FormDialog>
  );
}

interface FieldsProps {
  readonly form: DestinationForm;
  readonly isNew: boolean;
  readonly onChange: (changes: Partial<DestinationForm>) => void;
}

const KEPT = "Leave it empty to keep the current one.";

function WebhookFields({ form, isNew, onChange }: FieldsProps): VNode {
  return (
    <>
      <TextField
        label="Address"
        type="url"
        placeholder="https://example.com/changes"
        value={form.url}
        onInput={(url) => onChange({ url })}
      />
      <TextField
        label="Secret (optional)"
        isCode
        hint={isNew ? "By default the server makes one and shows it once." : KEPT}
        value={form.secret}
        onInput={(secret) => onChange({ secret })}
      />
      <Checkbox
        label="Allow addresses outside the public internet"
        isChecked={form.allowPrivate}
        onChange={(allowPrivate) => onChange({ allowPrivate })}
      />
    </>
  );
}

function SinkFields({ form, isNew, onChange }: FieldsProps): VNode {
  const hint = isNew ? undefined : { hint: KEPT };
  return (
    <>
      <TextArea
        label="Servers, one in each line"
        rows={2}
        placeholder="nats://127.0.0.1:4222"
        value={form.servers}
        onInput={(servers) => onChange({ servers })}
      />
      <TextField
        label="Subject (optional)"
        isCode
        placeholder="bigpeer.{app}.{collection}.{type}"
        value={form.subject}
        onInput={(subject) => onChange({ subject })}
      />
      <div class="form-grid">
        <TextField
          label="User (optional)"
          value={form.user}
          onInput={(user) => onChange({ user })}
        />
        <TextField
          label="Password (optional)"
          type="password"
          {...hint}
          value={form.password}
          onInput={(password) => onChange({ password })}
        />
        <TextField
          label="Token (optional)"
          type="password"
          {...hint}
          value={form.token}
          onInput={(token) => onChange({ token })}
        />
      </div>
    </>
  );
}

interface EventFieldsProps {
  readonly events: readonly EventName[];
  readonly onChange: (events: readonly EventName[]) => void;
}

function EventFields({ events, onChange }: EventFieldsProps): VNode {
  return (
    <div class="choices" role="group" aria-label="Events">
      {EVENTS.map((event) => (
        <Checkbox
          key={event}
          label={event}
          isChecked={events.includes(event)}
          onChange={(isOn) =>
            onChange(isOn ? [...events, event] : events.filter((other) => other !== event))
          }
        />
      ))}
    </div>
  );
}
