/**
 * Test login: what the server makes of a token of a provider, without a session.
 */
import { request } from "../../api/request.ts";
import { ofApp } from "../../api/session.ts";
import { useState, type VNode } from "../../kit/preact.ts";
import { useAction } from "../../kit/use-action.ts";
import { Facts } from "../../ui/facts.tsx";
import { TextArea } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { StateBadge } from "../../ui/state-badge.tsx";
import { Time } from "../../ui/time.tsx";
import { type Permissions, summaryOf } from "./permission-form.ts";

type Outcome =
  | {
      readonly isValid: true;
      /** Null if each login makes a user of its own. */
      readonly userId: string | null;
      readonly permissions: Permissions;
      readonly identity: object | null;
      readonly expiresAt: string;
    }
  | { readonly isValid: false; readonly reason: string };

export interface TestLoginDialogProps {
  readonly app: string;
  readonly provider: string;
  readonly onClose: () => void;
}

export function TestLoginDialog({ app, provider, onClose }: TestLoginDialogProps): VNode {
  const [token, setToken] = useState("");
  const [outcome, setOutcome] = useState<Outcome>();
  const action = useAction();
  const test = async (): Promise<void> => {
    const path = ofApp(app, `/provider/${encodeURIComponent(provider)}/test`);
    const body = { token: token.trim() };
    setOutcome(await request<Outcome>(path, { method: "POST", body }));
  };
  return (
    <FormDialog
      title={`Test a login with ${provider}`}
      action="Test"
      state={action}
      isDisabled={token.trim() === ""}
      onClose={onClose}
      onSubmit={() => void action.run(test)}
    >
      <TextArea
        label="Token"
        autofocus
        rows={4}
        hint="As the app sends it. The test creates no session."
        value={token}
        onInput={setToken}
      />
      <div role="status" class="results">
        {outcome === undefined ? null : <OutcomeView outcome={outcome} />}
      </div>
    </FormDialog>
  );
}

function OutcomeView({ outcome }: { readonly outcome: Outcome }): VNode {
  if (!outcome.isValid) return <StateBadge kind="err">Refused: {outcome.reason}</StateBadge>;
  const { userId, expiresAt, permissions, identity } = outcome;
  return (
    <>
      <StateBadge kind="ok">The token is valid.</StateBadge>
      <Facts
        facts={[
          ["User", userId === null ? "a new one for each login" : <code key="user">{userId}</code>],
          ["Rights", summaryOf(permissions)],
          ["Ends", <Time key="ends" at={expiresAt} />],
        ]}
      />
      <JsonView
        label="Permissions"
        value={{ permissions, ...(identity !== null && { identity }) }}
      />
    </>
  );
}
