/**
 * Buttons: a text, an icon with a text, or an icon alone with its label as a tooltip.
 */
import type { ComponentChildren, VNode } from "../kit/preact.ts";
import { Icon, type IconName } from "./icon.tsx";

export interface ButtonProps {
  readonly onClick?: () => void;
  readonly children?: ComponentChildren;
  readonly icon?: IconName;
  /** `primary` is the one main action of a place, `danger` destroys. */
  readonly kind?: "plain" | "primary" | "danger" | "quiet";
  readonly isDisabled?: boolean;
  readonly isSubmit?: boolean;
  readonly isPressed?: boolean;
  /** More than the text says. */
  readonly title?: string;
}

export function Button(props: ButtonProps): VNode {
  const { children, icon, kind = "plain", isDisabled = false, isSubmit = false } = props;
  return (
    <button
      type={isSubmit ? "submit" : "button"}
      class={`button ${kind}`}
      disabled={isDisabled}
      aria-pressed={props.isPressed}
      title={props.title}
      onClick={props.onClick}
    >
      {icon === undefined ? null : <Icon name={icon} />}
      {children}
    </button>
  );
}

export interface IconButtonProps {
  /** What it does: its name for screen readers, and its tooltip. */
  readonly label: string;
  readonly icon: IconName;
  readonly onClick: () => void;
  readonly isDisabled?: boolean;
  readonly isPressed?: boolean;
  readonly isExpanded?: boolean;
}

export function IconButton(props: IconButtonProps): VNode {
  const { label, icon, onClick, isDisabled = false } = props;
  return (
    <button
      type="button"
      class="button quiet icon-only"
      aria-label={label}
      title={label}
      aria-pressed={props.isPressed}
      aria-expanded={props.isExpanded}
      disabled={isDisabled}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}
