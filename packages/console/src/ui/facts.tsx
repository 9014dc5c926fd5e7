/**
 * Facts: names with their values, in columns.
 */
import { type ComponentChildren, Fragment, type VNode } from "../kit/preact.ts";

export interface FactsProps {
  /** Those without a value are left out. */
  readonly facts: readonly (readonly [title: string, value: ComponentChildren])[];
}

export function Facts({ facts }: FactsProps): VNode {
  const shown = facts.filter(([, value]) => value !== undefined && value !== null && value !== "");
  return (
    <dl class="facts">
      {shown.map(([title, value]) => (
        <Fragment key={title}>
          <dt>{title}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}
