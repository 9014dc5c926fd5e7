/**
 * Auth providers as a form: the fields of each type as texts, and the configuration that they make.
 */
import {
  formOf,
  NEW_FORM,
  type PermissionForm,
  type Permissions,
  permissionsOf,
  summaryOf,
} from "./permission-form.ts";

export type ProviderType = "anonymous" | "tokenWebhook" | "jwt";
/** Where the keys of a `jwt` provider come from. */
export type KeySource = "secret" | "jwks" | "jwksUrl";

export interface ProviderConfig {
  readonly type: ProviderType;
  readonly permission?: Permissions;
  readonly sessionLength?: number;
  readonly loopbackOnly?: boolean;
  readonly webhookUrl?: string;
  readonly jwks?: object;
  readonly jwksUrl?: string;
  readonly issuer?: string;
  readonly audience?: string | readonly string[];
  readonly algorithms?: readonly string[];
  readonly clockTolerance?: number;
}

export interface Provider {
  readonly name: string;
  readonly config: ProviderConfig;
}

export interface ProviderForm {
  readonly name: string;
  readonly type: ProviderType;
  readonly sharedToken: string;
  readonly sessionLength: string;
  readonly loopbackOnly: boolean;
  readonly webhookUrl: string;
  readonly keySource: KeySource;
  readonly secret: string;
  readonly jwks: string;
  readonly jwksUrl: string;
  readonly issuer: string;
  readonly audience: string;
  readonly hasPermission: boolean;
  readonly permission: PermissionForm;
}

const DAY_S = 86_400;

export const NEW_PROVIDER: ProviderForm = {
  name: "",
  type: "jwt",
  sharedToken: "",
  sessionLength: String(DAY_S),
  loopbackOnly: false,
  webhookUrl: "",
  keySource: "jwksUrl",
  secret: "",
  jwks: "",
  jwksUrl: "",
  issuer: "",
  audience: "",
  hasPermission: true,
  permission: NEW_FORM,
};

export function providerForm({ name, config }: Provider): ProviderForm {
  const { permission, jwks, audience = "" } = config;
  const keySource =
    jwks !== undefined ? "jwks" : config.jwksUrl !== undefined ? "jwksUrl" : "secret";
  return {
    ...NEW_PROVIDER,
    name,
    type: config.type,
    sessionLength: String(config.sessionLength ?? DAY_S),
    loopbackOnly: config.loopbackOnly ?? false,
    webhookUrl: config.webhookUrl ?? "",
    keySource,
    jwks: jwks === undefined ? "" : JSON.stringify(jwks, null, 2),
    jwksUrl: config.jwksUrl ?? "",
    issuer: config.issuer ?? "",
    audience: typeof audience === "string" ? audience : audience.join(", "),
    hasPermission: permission !== undefined,
    permission: permission === undefined ? NEW_FORM : formOf(permission),
  };
}

/**
 * The configuration to send. `before` is that of the provider that is changed: what the form does
 * not show stays. A secret that is left empty stays, too.
 */
export function providerConfig(form: ProviderForm, before?: ProviderConfig): object {
  const permission = permissionsOf(form.permission);
  switch (form.type) {
    case "anonymous":
      return {
        type: form.type,
        ...given("sharedToken", form.sharedToken),
        sessionLength: Number(form.sessionLength),
        loopbackOnly: form.loopbackOnly,
        permission,
      };
    case "tokenWebhook":
      return { type: form.type, webhookUrl: form.webhookUrl.trim() };
    default:
      return {
        type: form.type,
        ...keys(form),
        ...given("issuer", form.issuer),
        ...audienceOf(form.audience),
        ...kept(before),
        ...(form.hasPermission && { permission }),
      };
  }
}

function keys({ keySource, secret, jwks, jwksUrl }: ProviderForm): object {
  switch (keySource) {
    case "secret":
      return given("secret", secret);
    case "jwksUrl":
      return { jwksUrl: jwksUrl.trim() };
    default:
      return { jwks: readKeySet(jwks) };
  }
}

function readKeySet(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('expected a key set in JSON, such as {"keys": […]}');
  }
}

function audienceOf(text: string): object {
  const all = text
    .split(/[\s,]+/)
    .map((each) => each.trim())
    .filter((each) => each !== "");
  if (all.length === 0) return {};
  return { audience: all.length === 1 ? all[0] : all };
}

/** The form has no fields for these. */
function kept(before: ProviderConfig | undefined): object {
  if (before?.type !== "jwt") return {};
  const { algorithms, clockTolerance } = before;
  return {
    ...(algorithms !== undefined && { algorithms }),
    ...(clockTolerance !== undefined && { clockTolerance }),
  };
}

function given(name: string, text: string): object {
  return text.trim() === "" ? {} : { [name]: text.trim() };
}

const TYPE_TITLES: Readonly<Record<ProviderType, string>> = {
  anonymous: "Shared token",
  tokenWebhook: "Webhook",
  jwt: "JWT",
};

export function typeTitle(type: ProviderType): string {
  return TYPE_TITLES[type];
}

/** What a provider does, in one line. */
export function providerSummary(config: ProviderConfig): string {
  const { permission } = config;
  const rights = permission === undefined ? [] : [summaryOf(permission)];
  switch (config.type) {
    case "anonymous":
      return [...(config.loopbackOnly === true ? ["this machine only"] : []), ...rights].join("; ");
    case "tokenWebhook":
      return config.webhookUrl ?? "";
    default: {
      const source =
        config.issuer ?? config.jwksUrl ?? (config.jwks === undefined ? "secret" : "key set");
      return [source, ...(rights.length === 0 ? ["permissions of the token"] : rights)].join("; ");
    }
  }
}
