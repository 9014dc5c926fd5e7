/**
 * One of a few choices, all of them visible: radio buttons in a row.
 */
import { useId, type VNode } from "../kit/preact.ts";
import type { Choice } from "./field.tsx";

export interface ChoiceFieldProps {
  /** For screen readers. */
  readonly label: string;
  readonly value: string;
  readonly choices: readonly Choice[];
  readonly onChange: (value: string) => void;
}

export function ChoiceField({ label, value, choices, onChange }: ChoiceFieldProps): VNode {
  const name = useId();
  return (
    <div class="choices" role="radiogroup" aria-label={label}>
      {choices.map((choice) => (
        <label key={choice.value}>
          <input
            type="radio"
            name={name}
            checked={choice.value === value}
            onChange={() => onChange(choice.value)}
          />
          {choice.title}
        </label>
      ))}
    </div>
  );
}
