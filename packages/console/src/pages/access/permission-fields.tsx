/**
 * The fields of permissions, with how many documents they reach while they are typed.
 */
import { useCollectionNames } from "../../api/collection-names.ts";
import type { VNode } from "../../kit/preact.ts";
import { ChoiceField } from "../../ui/choice.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { Checkbox } from "../../ui/field.tsx";
import { QueryRows } from "../../ui/query-rows.tsx";
import {
  EMPTY_ROW,
  isSuspicious,
  type PermissionForm,
  permissionsOf,
  type RuleForm,
  type RuleKind,
  rowFaults,
  type Trial,
  trialText,
} from "./permission-form.ts";
import { type TrialCaller, useTrials } from "./permission-trial.ts";

const KINDS = [
  { value: "nothing", title: "Nothing" },
  { value: "queries", title: "Some documents" },
  { value: "everything", title: "Everything" },
];

export interface PermissionFieldsProps {
  readonly app: string;
  readonly form: PermissionForm;
  readonly onChange: (form: PermissionForm) => void;
  /** The user that queries with `:userId` are tried for. */
  readonly caller?: TrialCaller | undefined;
}

export function PermissionFields({ app, form, onChange, caller }: PermissionFieldsProps): VNode {
  const { read, write, remoteQuery } = form;
  const collections = useCollectionNames(app);
  const { value: trials, error } = useTrials(app, permissionsOf(form), caller);
  const shared = { collections };
  return (
    <>
      <RuleFields
        {...shared}
        title="Read"
        rule={read}
        trials={trials?.read}
        adjective="visible"
        onChange={(rule) => onChange({ ...form, read: rule })}
      />
      <RuleFields
        {...shared}
        title="Write"
        rule={write}
        trials={trials?.write}
        adjective="writable"
        onChange={(rule) => onChange({ ...form, write: rule })}
      />
      <ErrorMessage error={error} />
      <Checkbox
        label="Remote statements on devices (needs everything for read)"
        isChecked={remoteQuery}
        onChange={(isOn) => onChange({ ...form, remoteQuery: isOn })}
      />
    </>
  );
}

interface RuleFieldsProps {
  readonly title: string;
  readonly rule: RuleForm;
  readonly trials: readonly Trial[] | undefined;
  readonly adjective: string;
  readonly collections: readonly string[];
  readonly onChange: (rule: RuleForm) => void;
}

function RuleFields(props: RuleFieldsProps): VNode {
  const { title, rule, trials = [], adjective, collections, onChange } = props;
  const choose = (kind: string): void => {
    const rows = kind === "queries" && rule.rows.length === 0 ? [EMPTY_ROW] : rule.rows;
    onChange({ kind: kind as RuleKind, rows });
  };
  return (
    <fieldset class="rule">
      <legend>{title}</legend>
      <ChoiceField label={title} value={rule.kind} choices={KINDS} onChange={choose} />
      {rule.kind === "queries" ? (
        <>
          <QueryRows
            purpose={title}
            rows={rule.rows}
            collections={collections}
            faultsOf={rowFaults}
            onChange={(rows) => onChange({ ...rule, rows })}
          />
          <div role="status">
            {trials.map((trial) => (
              <p
                key={trial.collection}
                class={isSuspicious(trial) ? "trial is-suspicious" : "trial"}
              >
                {trial.collection}: {trialText(trial, adjective)}
              </p>
            ))}
          </div>
        </>
      ) : null}
    </fieldset>
  );
}
