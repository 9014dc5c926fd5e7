/**
 * Creates an auth provider, or changes one.
 */

import { parseExact } from "@bigpeer/client/exact-json";
import { ApiError, request } from "../../api/request.ts";
import { ofApp } from "../../api/session.ts";
import { useState, type VNode } from "../../kit/preact.ts";
import { useAction } from "../../kit/use-action.ts";
import { Checkbox, SelectField, TextArea, TextField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { showToast } from "../../ui/toast.tsx";
import { PermissionFields } from "./permission-fields.tsx";
import { isComplete, permissionsOf, withoutCaller } from "./permission-form.ts";
import type { TrialCaller } from "./permission-trial.ts";
import { isWanted } from "./permissions-wanted.tsx";
import {
  type KeySource,
  NEW_PROVIDER,
  type Provider,
  type ProviderForm,
  type ProviderType,
  providerConfig,
  providerForm,
} from "./provider-form.ts";

const TYPES = [
  { value: "jwt", title: "JWT: tokens of an issuer that you trust" },
  { value: "tokenWebhook", title: "Webhook: a server of yours checks tokens" },
  { value: "anonymous", title: "Shared token: users without tokens of their own" },
];

const KEY_SOURCES = [
  { value: "jwksUrl", title: "Address of a key set" },
  { value: "secret", title: "Shared secret (HS256)" },
  { value: "jwks", title: "Key set" },
];

/** The user that the permissions are tried for, as it is typed. */
interface TriedUser {
  readonly userId: string;
  /** As JSON. */
  readonly claims: string;
}

const NO_USER: TriedUser = { userId: "", claims: "" };

export interface ProviderDialogProps {
  readonly app: string;
  /** The provider to change; a new one without it. */
  readonly provider?: Provider;
  readonly onClose: () => void;
  readonly onSaved: () => Promise<void>;
}

export function ProviderDialog({ app, provider, onClose, onSaved }: ProviderDialogProps): VNode {
  const [form, setForm] = useState<ProviderForm>(() =>
    provider === undefined ? NEW_PROVIDER : providerForm(provider),
  );
  const change = (changes: Partial<ProviderForm>): void => setForm({ ...form, ...changes });
  const [user, setUser] = useState<TriedUser>(NO_USER);
  const action = useAction();
  const save = async (): Promise<void> => {
    if (grantsRights(form) && !(await isWantedFor(app, form, user))) return;
    const config = providerConfig(form, provider?.config);
    const name = form.name.trim();
    const path = ofApp(app, "/provider");
    if (provider === undefined) {
      await refuseTaken(path, name);
      await request(path, { method: "POST", body: { name, config } });
    } else {
      const own = `${path}/${encodeURIComponent(provider.name)}`;
      await request(own, { method: "PUT", body: { config } });
    }
    await onSaved();
    showToast({ text: `The provider ${name} is saved.` });
    onClose();
  };
  const isNew = provider === undefined;
  return (
    <FormDialog
      title={isNew ? "New auth provider" : `Auth provider ${provider.name}`}
      action={isNew ? "Create" : "Save"}
      state={action}
      isDisabled={form.name.trim() === "" || !isComplete(form.permission)}
      onClose={onClose}
      onSubmit={() => void action.run(save)}
    >
      {isNew ? (
        <>
          <TextField
            label="Name"
            autofocus
            value={form.name}
            onInput={(name) => change({ name })}
          />
          <SelectField
            label="Type"
            value={form.type}
            choices={TYPES}
            onChange={(type) => change({ type: type as ProviderType })}
          />
        </>
      ) : null}
      <TypeFields form={form} isNew={isNew} onChange={change} />
      {form.type === "tokenWebhook" ? (
        <p class="hint">The webhook answers with the permissions of each user.</p>
      ) : (
        <UserPermissions app={app} form={form} user={user} onUser={setUser} onChange={change} />
      )}
    </FormDialog>
  );
}

/** POST would replace a provider with the name. */
async function refuseTaken(path: string, name: string): Promise<void> {
  const known = await request(`${path}/${encodeURIComponent(name)}`).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  });
  if (known !== undefined) throw new Error(`there is a provider named ${name} already`);
}

interface TypeFieldsProps {
  readonly form: ProviderForm;
  readonly isNew: boolean;
  readonly onChange: (changes: Partial<ProviderForm>) => void;
}

function TypeFields({ form, isNew, onChange }: TypeFieldsProps): VNode {
  switch (form.type) {
    case "anonymous":
      return <SharedTokenFields form={form} isNew={isNew} onChange={onChange} />;
    case "tokenWebhook":
      return (
        <TextField
          label="Address of the webhook"
          type="url"
          placeholder="https://example.com/login"
          value={form.webhookUrl}
          onInput={(webhookUrl) => onChange({ webhookUrl })}
        />
      );
    default:
      return <JwtFields form={form} isNew={isNew} onChange={onChange} />;
  }
}

const UNCHANGED = "Leave it empty to keep the current one.";

function SharedTokenFields({ form, isNew, onChange }: TypeFieldsProps): VNode {
  return (
    <>
      <TextField
        label="Shared token"
        isCode
        hint={isNew ? "At least 16 characters" : UNCHANGED}
        value={form.sharedToken}
        onInput={(sharedToken) => onChange({ sharedToken })}
      />
      <TextField
        label="Length of a session, in seconds"
        type="number"
        value={form.sessionLength}
        onInput={(sessionLength) => onChange({ sessionLength })}
      />
      <Checkbox
        label="Only clients on the same machine"
        isChecked={form.loopbackOnly}
        onChange={(loopbackOnly) => onChange({ loopbackOnly })}
      />
    </>
  );
}

function JwtFields({ form, isNew, onChange }: TypeFieldsProps): VNode {
  return (
    <>
      <SelectField
        label="Keys that verify the tokens"
        value={form.keySource}
        choices={KEY_SOURCES}
        onChange={(source) => onChange({ keySource: source as KeySource })}
      />
      {form.keySource === "jwksUrl" ? (
        <TextField
          label="Address of the key set"
          type="url"
          placeholder="https://id.example/.well-known/jwks.json"
          value={form.jwksUrl}
          onInput={(jwksUrl) => onChange({ jwksUrl })}
        />
      ) : null}
      {form.keySource === "secret" ? (
        <TextField
          label="Secret"
          isCode
          hint={isNew ? "At least 32 bytes" : UNCHANGED}
          value={form.secret}
          onInput={(secret) => onChange({ secret })}
        />
      ) : null}
      {form.keySource === "jwks" ? (
        <TextArea label="Key set (JSON)" value={form.jwks} onInput={(jwks) => onChange({ jwks })} />
      ) : null}
      <div class="form-grid">
        <TextField
          label="Issuer (optional)"
          value={form.issuer}
          onInput={(issuer) => onChange({ issuer })}
        />
        <TextField
          label="Audience (optional)"
          hint="By default the id of the app"
          value={form.audience}
          onInput={(audience) => onChange({ audience })}
        />
      </div>
    </>
  );
}

interface UserPermissionsProps {
  readonly app: string;
  readonly form: ProviderForm;
  readonly user: TriedUser;
  readonly onUser: (user: TriedUser) => void;
  readonly onChange: (changes: Partial<ProviderForm>) => void;
}

function UserPermissions({ app, form, user, onUser, onChange }: UserPermissionsProps): VNode {
  const { userId, claims } = user;
  return (
    <>
      {form.type === "jwt" ? (
        <Checkbox
          label="Default permissions, for users whose tokens have none"
          isChecked={form.hasPermission}
          onChange={(hasPermission) => onChange({ hasPermission })}
        />
      ) : null}
      {grantsRights(form) ? (
        <>
          <div class="form-grid">
            <TextField
              label="Try as the user"
              hint="The value of :userId"
              value={userId}
              onInput={(text) => onUser({ ...user, userId: text })}
            />
            <TextField
              label="With the claims (JSON)"
              isCode
              placeholder='{"team": "red"}'
              fault={claimsOf(claims) === undefined ? "expected an object in JSON" : undefined}
              value={claims}
              onInput={(text) => onUser({ ...user, claims: text })}
            />
          </div>
          <PermissionFields
            app={app}
            form={form.permission}
            caller={callerOf(user)}
            onChange={(permission) => onChange({ permission })}
          />
        </>
      ) : null}
    </>
  );
}

/** A webhook answers with permissions, and a token may bring its own. */
function grantsRights({ type, hasPermission }: ProviderForm): boolean {
  return type === "anonymous" || (type === "jwt" && hasPermission);
}

/** Without a user, queries that name the caller reach nothing, which says nothing about them. */
function isWantedFor(app: string, form: ProviderForm, user: TriedUser): Promise<boolean> {
  const permissions = permissionsOf(form.permission);
  const isNamed = user.userId.trim() !== "" || user.claims.trim() !== "";
  return isWanted(app, isNamed ? permissions : withoutCaller(permissions), callerOf(user));
}

function callerOf({ userId, claims }: TriedUser): TrialCaller {
  return {
    userId: userId.trim() === "" ? "someone" : userId.trim(),
    claims: claimsOf(claims) ?? {},
  };
}

function claimsOf(text: string): Readonly<Record<string, unknown>> | undefined {
  if (text.trim() === "") return {};
  try {
    const value = parseExact(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}
