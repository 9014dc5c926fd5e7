/**
 * Remote statements: runs a statement on the chosen devices, and shows one result for each.
 */
import { request } from "../../api/request.ts";
import { ofApp } from "../../api/session.ts";
import { type TargetedKeyboardEvent, useState, type VNode } from "../../kit/preact.ts";
import { stored } from "../../kit/stored.ts";
import { useAction } from "../../kit/use-action.ts";
import { route } from "../../route/router.ts";
import { Button } from "../../ui/button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { SelectField, TextArea, TextField } from "../../ui/field.tsx";
import type { PageProps } from "../page.ts";
import { DeviceField } from "./device-field.tsx";
import { RemoteResults } from "./remote-results.tsx";
import { type RemoteForm, type RemoteResult, remoteRequest } from "./remote-statement.ts";

const TARGETS = [
  { value: "all", title: "All connected devices" },
  { value: "one", title: "One device" },
  { value: "condition", title: "Devices for which a condition holds" },
];

/** What was typed last stays over reloads. */
const lastStatement = stored("remoteStatement", "", (value) => typeof value === "string");

export function RemoteStatements({ app }: PageProps): VNode {
  const { device = "" } = route.value.query;
  const [form, setForm] = useState<RemoteForm>(() => ({
    target: device === "" ? "all" : "one",
    device,
    condition: "",
    statement: lastStatement.value,
    args: "",
  }));
  const [results, setResults] = useState<readonly RemoteResult[]>();
  const action = useAction();
  const change = (changes: Partial<RemoteForm>): void => {
    setForm({ ...form, ...changes });
    if (changes.statement !== undefined) lastStatement.value = changes.statement;
  };
  const run = (): void => void action.run(async () => setResults(await runRemotely(app, form)));
  const keyDown = (event: TargetedKeyboardEvent<HTMLTextAreaElement>): void => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    run();
  };
  return (
    <>
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          run();
        }}
      >
        <Targets app={app} form={form} onChange={change} />
        <TextArea
          label="Statement"
          rows={4}
          placeholder="SELECT COUNT(*) AS n FROM orders"
          value={form.statement}
          onInput={(statement) => change({ statement })}
          onKeyDown={keyDown}
        />
        <TextField
          label="Parameters (JSON)"
          isCode
          placeholder='{"open": true}'
          value={form.args}
          onInput={(args) => change({ args })}
        />
        <div class="toolbar">
          <Button kind="primary" icon="play" isSubmit isDisabled={action.isRunning}>
            {action.isRunning ? "Running…" : "Run"}
          </Button>
          <span class="muted">
            <kbd>Ctrl Enter</kbd> Each device decides whether to run it. The audit log records it.
          </span>
        </div>
      </form>
      <ErrorMessage error={action.error} />
      {results === undefined ? null : <RemoteResults results={results} />}
      {results === undefined && action.error === undefined ? (
        <Empty title="See what a device has in its store.">
          <p>
            The statement runs on the devices. Its result includes writes that they have not
            uploaded yet.
          </p>
        </Empty>
      ) : null}
    </>
  );
}

interface TargetsProps {
  readonly app: string;
  readonly form: RemoteForm;
  readonly onChange: (changes: Partial<RemoteForm>) => void;
}

function Targets({ app, form, onChange }: TargetsProps): VNode {
  return (
    <div class="form-grid">
      <SelectField
        label="Devices"
        value={form.target}
        choices={TARGETS}
        onChange={(target) => onChange({ target: target as RemoteForm["target"] })}
      />
      {form.target === "one" ? (
        <DeviceField
          app={app}
          label="Device"
          value={form.device}
          onChange={(device) => onChange({ device })}
        />
      ) : null}
      {form.target === "condition" ? (
        <TextField
          label="Condition"
          isCode
          placeholder="os = 'linux' AND peerMetadata.store = 'Köln'"
          value={form.condition}
          onInput={(condition) => onChange({ condition })}
        />
      ) : null}
    </div>
  );
}

interface RemoteAnswer {
  readonly result: readonly RemoteResult[];
  readonly error?: { readonly description: string };
}

async function runRemotely(app: string, form: RemoteForm): Promise<readonly RemoteResult[]> {
  const { result, error } = await request<RemoteAnswer>(ofApp(app, "/sync/remote_execute"), {
    method: "POST",
    body: remoteRequest(form),
  });
  if (error?.description !== undefined) throw new Error(error.description);
  return result;
}
