/**
 * Remote statements: runs a statement on the chosen devices, and shows one result for each.
 */
import { request } from "../../api/request.ts";
import { ofApp } from "../../api/session.ts";
import { type TargetedKeyboardEvent, useState, type VNode } from "../../kit/preact.ts";
import { stored } from "../../kit/stored.ts";
import { useAction } from "../../kit/use-action.ts";
import { route, setQuery } from "../../route/router.ts";
import { Button } from "../../ui/button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { SelectField, TextArea, TextField } from "../../ui/field.tsx";
import type { PageProps } from "../page.ts";
import { DeviceField } from "./device-field.tsx";
import { RemoteResults } from "./remote-results.tsx";
import { type RemoteForm, type RemoteResult, remoteRequest } from "./remote-statement.ts";

const TARGETS: readonly { readonly value: RemoteForm["target"]; readonly title: string }[] = [
  { value: "all", title: "All connected devices" },
  { value: "one", title: "One device" },
  { value: "condition", title: "Devices for which a condition holds" },
];

/** What was typed last stays over reloads. */
const lastStatement = stored("remoteStatement", "", (value) => typeof value === "string");

export function RemoteStatements({ app }: PageProps): VNode {
  const [args, setArgs] = useState("");
  const form = { ...targetInRoute(), statement: lastStatement.value, args };
  const [results, setResults] = useState<readonly RemoteResult[]>();
  const action = useAction();
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
        <Targets app={app} form={form} />
        <TextArea
          label="Statement"
          rows={4}
          placeholder="SELECT COUNT(*) AS n FROM orders"
          value={form.statement}
          onInput={(statement) => {
            lastStatement.value = statement;
          }}
          onKeyDown={keyDown}
        />
        <TextField
          label="Parameters (JSON)"
          isCode
          placeholder='{"open": true}'
          value={form.args}
          onInput={setArgs}
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

type Target = Pick<RemoteForm, "target" | "device" | "condition">;

/** The devices, as the address names them. */
function targetInRoute(): Target {
  const { target = "", device = "", condition = "" } = route.value.query;
  const named = TARGETS.find(({ value }) => value === target)?.value;
  return { target: named ?? (device === "" ? "all" : "one"), device, condition };
}

function changeTarget(changes: Partial<Target>): void {
  setQuery(changes, { replace: true });
}

interface TargetsProps {
  readonly app: string;
  readonly form: RemoteForm;
}

function Targets({ app, form }: TargetsProps): VNode {
  return (
    <div class="form-grid">
      <SelectField
        label="Devices"
        value={form.target}
        choices={TARGETS}
        onChange={(target) => changeTarget({ target: target as Target["target"] })}
      />
      {form.target === "one" ? (
        <DeviceField
          app={app}
          label="Device"
          value={form.device}
          onChange={(device) => changeTarget({ target: "one", device })}
        />
      ) : null}
      {form.target === "condition" ? (
        <TextField
          label="Condition"
          isCode
          placeholder="os = 'linux' AND peerMetadata.store = 'Köln'"
          value={form.condition}
          onInput={(condition) => changeTarget({ condition })}
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
