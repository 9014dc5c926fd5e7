/**
 * Editor of one value: its type and its text. Enter saves, Escape leaves it as it was.
 */

import { stringifyExact } from "@bigpeer/client/exact-json";
import { parseTyped, type ValueType } from "../../data/filter.ts";
import { useState, type VNode } from "../../kit/preact.ts";
import { Button } from "../../ui/button.tsx";
import { SelectField, TextArea, TextField } from "../../ui/field.tsx";

export type EditedType = ValueType | "null";

const TYPES: readonly { readonly value: EditedType; readonly title: string }[] = [
  { value: "text", title: "text" },
  { value: "number", title: "number" },
  { value: "boolean", title: "boolean" },
  { value: "null", title: "null" },
  { value: "json", title: "JSON" },
];

const EXPECTED: Readonly<Record<EditedType, string>> = {
  text: "expected text",
  number: "expected a number",
  boolean: "expected true or false",
  null: "",
  json: "expected JSON",
};

export interface ValueEditorProps {
  /** The name of the field. */
  readonly label: string;
  readonly value: unknown;
  readonly onSave: (value: unknown) => Promise<void>;
  readonly onCancel: () => void;
}

export function ValueEditor({ label, value, onSave, onCancel }: ValueEditorProps): VNode {
  const [type, setType] = useState<EditedType>(typeOf(value));
  const [text, setText] = useState(textOf(value));
  const [isTried, setTried] = useState(false);
  const parsed = type === "null" ? null : parseTyped(text, type);
  const fault = isTried && parsed === undefined ? EXPECTED[type] : undefined;
  return (
    <form
      class="value-editor"
      onSubmit={(event) => {
        event.preventDefault();
        setTried(true);
        if (parsed !== undefined) void onSave(parsed);
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        onCancel();
      }}
    >
      <SelectField
        label={`Type of ${label}`}
        isLabelHidden
        value={type}
        choices={TYPES}
        onChange={(next) => setType(next as EditedType)}
      />
      <ValueInput
        label={label}
        type={type}
        text={text}
        fault={fault}
        autofocus
        isLabelHidden
        onInput={setText}
      />
      <Button isSubmit kind="primary">
        Save
      </Button>
      <Button onClick={onCancel}>Cancel</Button>
    </form>
  );
}

interface ValueInputProps {
  readonly label: string;
  readonly type: EditedType;
  readonly text: string;
  readonly fault: string | undefined;
  readonly autofocus?: boolean;
  readonly isLabelHidden?: boolean;
  readonly onInput: (text: string) => void;
}

export function ValueInput(props: ValueInputProps): VNode | null {
  const { label, type, text, fault, autofocus = false, isLabelHidden = false, onInput } = props;
  const name = `Value of ${label}`;
  if (type === "null") return <span class="grow value null">null</span>;
  if (type === "boolean") {
    const choices = ["true", "false"].map((each) => ({ value: each, title: each }));
    const value = text === "true" ? "true" : "false";
    if (value !== text) onInput(value);
    return (
      <SelectField
        label={name}
        isLabelHidden={isLabelHidden}
        value={value}
        choices={choices}
        onChange={onInput}
      />
    );
  }
  if (type === "json" || text.includes("\n")) {
    return (
      <TextArea
        label={name}
        isLabelHidden={isLabelHidden}
        rows={8}
        value={text}
        fault={fault}
        onInput={onInput}
        autofocus={autofocus}
      />
    );
  }
  return (
    <TextField
      label={name}
      isLabelHidden={isLabelHidden}
      isCode
      value={text}
      fault={fault}
      onInput={onInput}
      autofocus={autofocus}
    />
  );
}

function typeOf(value: unknown): EditedType {
  if (value === null) return "null";
  if (typeof value === "string") return "text";
  if (typeof value === "number" || typeof value === "bigint") return "number";
  return typeof value === "boolean" ? "boolean" : "json";
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  return stringifyExact(value, 2);
}
