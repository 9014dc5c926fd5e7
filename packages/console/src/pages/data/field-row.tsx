/**
 * One field of a document: its name, its CRDT type, its value, and how a value of that type changes.
 */

import type { ApiError } from "../../api/request.ts";
import type { Change } from "../../data/edit.ts";
import { parseTyped } from "../../data/filter.ts";
import type { TypedField } from "../../data/typed-fields.ts";
import { useState, type VNode } from "../../kit/preact.ts";
import { IconButton } from "../../ui/button.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { TextField } from "../../ui/field.tsx";
import { Value } from "../../ui/value.tsx";
import { pathText } from "../../values/names.ts";
import { AttachmentView } from "./attachment-view.tsx";
import { ValueEditor } from "./value-editor.tsx";

/** Runs a change. Resolves with what kept it from being done. */
export type RunChange = (title: string, change: Change) => Promise<ApiError | undefined>;

export interface FieldRowProps {
  readonly app: string;
  readonly collection: string;
  readonly id: unknown;
  readonly field: TypedField;
  readonly onChange: RunChange;
}

export function FieldRow(props: FieldRowProps): VNode {
  const { field, onChange } = props;
  const { path, type, isOpaque = false } = field;
  const [isEdited, setEdited] = useState(false);
  const [error, setError] = useState<ApiError>();
  const name = pathText(path);
  const run: RunChange = async (title, change) => {
    const failure = await onChange(title, change);
    setError(failure);
    return failure;
  };
  const write = async (value: unknown): Promise<void> => {
    const failure = await run(`Changed ${name}`, { kind: "set", path, value });
    if (failure === undefined) setEdited(false);
  };
  return (
    <li class="field-row" data-level={Math.min(path.length - 1, 5)}>
      <div class="field-head">
        <span class="field-name code cut" title={name}>
          {path.at(-1)}
        </span>
        <span class={`type-badge ${type}`}>{type}</span>
        <FieldValue {...props} isEdited={isEdited} onChange={run} />
        {type === "register" && !isEdited && !isOpaque ? (
          <IconButton label={`Edit ${name}`} icon="edit" onClick={() => setEdited(true)} />
        ) : null}
        <IconButton
          label={`Remove ${name}`}
          icon="trash"
          onClick={() => void run(`Removed ${name}`, { kind: "unset", path })}
        />
      </div>
      {isEdited ? (
        <ValueEditor
          label={name}
          value={field.value}
          onSave={write}
          onCancel={() => setEdited(false)}
        />
      ) : null}
      <ErrorMessage error={error} />
    </li>
  );
}

function FieldValue(props: FieldRowProps & { readonly isEdited: boolean }): VNode | null {
  const { app, field, isEdited } = props;
  if (field.type === "counter") return <Counter field={field} onChange={props.onChange} />;
  if (field.type === "attachment") return <AttachmentView app={app} token={field.value} />;
  if (field.type === "map" || isEdited) return <span class="grow" />;
  return (
    <span class="grow field-value">
      {field.isOpaque === true ? (
        <span class="muted">not shown: JSON cannot hold it</span>
      ) : (
        <Value value={field.value} />
      )}
    </span>
  );
}

/** The steps add up with those of other peers. */
function Counter({ field, onChange }: Pick<FieldRowProps, "field" | "onChange">): VNode {
  const [step, setStep] = useState("1");
  const by = parseTyped(step, "number") as number | bigint | undefined;
  const name = pathText(field.path);
  const isValid = by !== undefined && by !== 0;
  const add = async (sign: 1 | -1): Promise<void> => {
    if (by === undefined) return;
    const { path, isOld = false } = field;
    const change = sign === 1 ? by : -by;
    await onChange(`Changed ${name} by ${change}`, { kind: "increment", path, by: change, isOld });
  };
  return (
    <span class="grow counter">
      <span class="value number counter-value">{String(field.value)}</span>
      <IconButton
        label={`Subtract from ${name}`}
        icon="minus"
        isDisabled={!isValid}
        onClick={() => void add(-1)}
      />
      <TextField
        label={`Step of ${name}`}
        isLabelHidden
        isCode
        value={step}
        onInput={setStep}
        fault={isValid ? undefined : "expected a number"}
      />
      <IconButton
        label={`Add to ${name}`}
        icon="plus"
        isDisabled={!isValid}
        onClick={() => void add(1)}
      />
    </span>
  );
}
