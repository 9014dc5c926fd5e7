/**
 * A new field of a document: a register, or a counter that begins with a number.
 */
import { ApiError } from "../../api/request.ts";
import { parseTyped } from "../../data/filter.ts";
import type { TypedField } from "../../data/typed-fields.ts";
import { useState, type VNode } from "../../kit/preact.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { parsePath, pathText } from "../../values/names.ts";
import type { RunChange } from "./field-row.tsx";
import { type EditedType, ValueInput } from "./value-editor.tsx";

export interface NewFieldProps {
  readonly fields: readonly TypedField[];
  readonly onChange: RunChange;
}

type NewType = EditedType | "counter";

const TYPES: readonly { readonly value: NewType; readonly title: string }[] = [
  { value: "text", title: "text" },
  { value: "number", title: "number" },
  { value: "boolean", title: "boolean" },
  { value: "null", title: "null" },
  { value: "json", title: "JSON" },
  { value: "counter", title: "counter" },
];

export function NewField({ fields, onChange }: NewFieldProps): VNode {
  const [isOpen, setOpen] = useState(false);
  return isOpen ? (
    <NewFieldForm fields={fields} onChange={onChange} onClose={() => setOpen(false)} />
  ) : (
    <div>
      <Button icon="plus" onClick={() => setOpen(true)}>
        Add field
      </Button>
    </div>
  );
}

function NewFieldForm(props: NewFieldProps & { readonly onClose: () => void }): VNode {
  const { fields, onChange, onClose } = props;
  const [name, setName] = useState("");
  const [type, setType] = useState<NewType>("text");
  const [text, setText] = useState("");
  const [error, setError] = useState<ApiError>();
  const path = parsePath(name);
  const save = async (): Promise<void> => {
    const fault = faultOf(name, fields);
    const value = type === "null" ? null : parseTyped(text, type === "counter" ? "number" : type);
    if (fault !== undefined || path === undefined || value === undefined) {
      setError(new ApiError(400, "InvalidField", fault ?? `expected ${type}`));
      return;
    }
    const failure = await onChange(
      `Added ${pathText(path)}`,
      type === "counter"
        ? { kind: "restore", fields: [{ path, type: "counter", value }] }
        : { kind: "set", path, value },
    );
    setError(failure);
    if (failure === undefined) onClose();
  };
  return (
    <form
      class="new-field"
      aria-label="New field"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        onClose();
      }}
    >
      <TextField
        label="Name"
        isCode
        placeholder="address.city"
        value={name}
        onInput={setName}
        autofocus
        isRequired
      />
      <SelectField
        label="Type"
        value={type}
        choices={TYPES}
        onChange={(next) => setType(next as NewType)}
      />
      <ValueInput
        label="the new field"
        type={type === "counter" ? "number" : type}
        text={text}
        fault={undefined}
        onInput={setText}
      />
      <ErrorMessage error={error} />
      <div class="toolbar">
        <Button isSubmit kind="primary">
          Add
        </Button>
        <Button onClick={onClose}>Cancel</Button>
      </div>
    </form>
  );
}

function faultOf(name: string, fields: readonly TypedField[]): string | undefined {
  const path = parsePath(name);
  if (path === undefined) return "expected the name of a field";
  if (path[0] === "_id") return "the _id cannot change";
  const isTaken = fields.some((field) => pathText(field.path) === pathText(path));
  return isTaken ? `there is a field ${pathText(path)} already` : undefined;
}
