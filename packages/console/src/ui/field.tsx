/**
 * Form fields: a label, a control, and below it a hint or the fault of its value.
 */
import {
  type ComponentChildren,
  type TargetedKeyboardEvent,
  useId,
  type VNode,
} from "../kit/preact.ts";

interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly fault?: string | undefined;
  /** Whether the label is for screen readers alone. */
  readonly isLabelHidden?: boolean;
}

interface ControlAttributes {
  readonly id: string;
  readonly "aria-describedby"?: string;
  readonly "aria-invalid"?: true;
}

/** A label for any control. `control` gets the attributes that tie both together. */
export function Field(
  props: FieldProps & { readonly control: (attributes: ControlAttributes) => VNode },
): VNode {
  const { label, hint, fault, isLabelHidden = false, control } = props;
  const id = useId();
  const note = fault ?? hint;
  const attributes: ControlAttributes = {
    id,
    ...(note === undefined ? {} : { "aria-describedby": `${id}-note` }),
    ...(fault === undefined ? {} : { "aria-invalid": true as const }),
  };
  return (
    <div class="field">
      <label for={id} class={isLabelHidden ? "visually-hidden" : "label"}>
        {label}
      </label>
      {control(attributes)}
      {note === undefined ? null : (
        <p id={`${id}-note`} class={fault === undefined ? "hint" : "fault"}>
          {note}
        </p>
      )}
    </div>
  );
}

/** The attribute of HTML works for the first of a page alone. A dialog looks for `data-focus`. */
function focusAtFirst(control: HTMLElement | null): void {
  control?.focus();
}

export type InputType = "text" | "password" | "number" | "search" | "url" | "datetime-local";

/** Each type has attributes of its own in the types of Preact; those used here are of all. */
function typeAttribute(type: InputType): { readonly type: "text" } {
  return { type: type as "text" };
}

export interface TextFieldProps extends FieldProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly type?: InputType;
  readonly placeholder?: string;
  readonly isRequired?: boolean;
  readonly isReadOnly?: boolean;
  readonly isCode?: boolean;
  readonly autofocus?: boolean;
  readonly list?: readonly string[];
  readonly onKeyDown?: (event: TargetedKeyboardEvent<HTMLInputElement>) => void;
}

export function TextField(props: TextFieldProps): VNode {
  const { value, onInput, type = "text", list } = props;
  return (
    <Field
      {...props}
      control={(attributes) => (
        <>
          <input
            {...attributes}
            class={props.isCode === true ? "input code" : "input"}
            {...typeAttribute(type)}
            value={value}
            placeholder={props.placeholder}
            required={props.isRequired}
            readOnly={props.isReadOnly}
            data-focus={props.autofocus}
            ref={props.autofocus === true ? focusAtFirst : null}
            autocomplete="off"
            spellcheck={false}
            list={list === undefined ? undefined : `${attributes.id}-list`}
            onInput={(event) => onInput(event.currentTarget.value)}
            onKeyDown={props.onKeyDown}
          />
          {list === undefined ? null : (
            <datalist id={`${attributes.id}-list`}>
              {list.map((each) => (
                <option key={each} value={each} />
              ))}
            </datalist>
          )}
        </>
      )}
    />
  );
}

export interface TextAreaProps extends FieldProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly rows?: number;
  readonly placeholder?: string;
  readonly autofocus?: boolean;
  readonly onKeyDown?: (event: TargetedKeyboardEvent<HTMLTextAreaElement>) => void;
}

/** Several lines of code: JSON, statements. */
export function TextArea(props: TextAreaProps): VNode {
  const { value, onInput, rows = 6 } = props;
  return (
    <Field
      {...props}
      control={(attributes) => (
        <textarea
          {...attributes}
          class="input code"
          rows={rows}
          value={value}
          placeholder={props.placeholder}
          data-focus={props.autofocus}
          ref={props.autofocus === true ? focusAtFirst : null}
          spellcheck={false}
          onInput={(event) => onInput(event.currentTarget.value)}
          onKeyDown={props.onKeyDown}
        />
      )}
    />
  );
}

export interface Choice {
  readonly value: string;
  readonly title: string;
}

export interface SelectFieldProps extends FieldProps {
  readonly value: string;
  readonly choices: readonly Choice[];
  readonly onChange: (value: string) => void;
}

export function SelectField(props: SelectFieldProps): VNode {
  const { value, choices, onChange } = props;
  return (
    <Field
      {...props}
      control={(attributes) => (
        <select
          {...attributes}
          class="input"
          value={value}
          onChange={(event) => onChange(event.currentTarget.value)}
        >
          {choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.title}
            </option>
          ))}
        </select>
      )}
    />
  );
}

export interface CheckboxProps {
  readonly label: ComponentChildren;
  readonly isChecked: boolean;
  readonly onChange: (isChecked: boolean) => void;
  readonly isDisabled?: boolean;
}

export function Checkbox({ label, isChecked, onChange, isDisabled = false }: CheckboxProps): VNode {
  return (
    <label class="checkbox">
      <input
        type="checkbox"
        checked={isChecked}
        disabled={isDisabled}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span>{label}</span>
    </label>
  );
}
