/**
 * Management schemas: the request bodies of the management API with their checks. Unknown fields
 * are refused, because a misspelt setting would silently have no effect. Optional fields may also
 * be null.
 *
 * The answer of a GET may be sent back (M31): so the body of a change may have the name, which must
 * equal the one of the path, and fields that only the server sets.
 *
 * A schema with a title becomes a component of the OpenAPI document of this API.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import { type QueryRequest, queryRequestWith } from "../data-api/schemas.ts";
import { KEY_GRACE_SECONDS_MAX } from "../limits/limits.ts";
import { CHANGE_TYPES } from "../registry/destination.ts";
import type { ReplicationChange } from "../registry/replications.ts";
import { DEFAULT_SUBJECT, type SinkChange } from "../registry/sinks.ts";
import type { WebhookChange } from "../registry/webhooks.ts";
import { AnyValue, type Check, compileCheck, type TSchema, Type } from "../validation/schema.ts";
import type { SeenBy } from "./see-as.ts";

/** Name in the body of a change. */
export interface Named {
  readonly name?: string | null;
}

export interface AppBody {
  readonly name: string;
  readonly appId?: string | null;
  readonly authProviders?: ValueObject | null;
}

export interface AppChangeBody extends Named {
  readonly appId?: string | null;
  readonly authProviders: ValueObject;
}

export interface KeyContent {
  readonly permissions: Value;
  readonly expiresAt?: string | null;
  readonly description?: string | null;
}

export interface KeyBody extends KeyContent {
  readonly name: string;
}

export interface KeyChangeBody extends KeyContent, Named {}

export interface RotationBody {
  readonly graceSeconds?: number | null;
}

export interface ReplicationBody extends ReplicationChange {
  readonly name: string;
}

export interface ReplicationChangeBody extends ReplicationChange, Named {}

export interface ReplicationSecretBody {
  readonly secret: string;
}

export interface WebhookBody extends WebhookChange {
  readonly name: string;
}

/** As the answer of a GET shows it. */
interface PausedShown {
  readonly isPaused?: boolean | null;
}

export interface WebhookChangeBody extends WebhookChange, Named, PausedShown {}

export interface SinkBody extends SinkChange {
  readonly name: string;
}

export interface SinkChangeBody extends SinkChange, Named, PausedShown {}

export interface ResumeBody {
  readonly from?: "position" | "now" | "oldest" | null;
}

export interface ProviderBody {
  readonly name: string;
  readonly config: ValueObject;
}

export interface ProviderChangeBody extends Named {
  readonly config: ValueObject;
}

/** Body of a statement of the console. */
export interface ConsoleQuery extends QueryRequest {
  readonly as?: SeenBy | null;
}

export interface PermissionTrialBody extends Pick<SeenBy, "permissions" | "userId" | "claims"> {
  readonly collections?: readonly string[] | null;
}

export interface ProviderTestBody {
  readonly token: string;
}

export interface SignInBody {
  readonly token: string;
}

export interface SettingsBody {
  readonly strictV4: boolean;
  readonly unknownCollectionsAreEmpty: boolean;
}

export interface SettingsChangeBody {
  readonly strictV4?: boolean | null;
  readonly unknownCollectionsAreEmpty?: boolean | null;
}

const NAME = Type.String();
const SAME_NAME = optional(Type.String());
const ANY_OBJECT = Type.Record(Type.String(), AnyValue);

const KEY_CONTENT = {
  permissions: Type.Record(Type.String(), AnyValue, {
    description: "`read`, `write` and `remoteQuery`, like the permissions of an answer.",
  }),
  expiresAt: optional(Type.String({ description: "A time of RFC 3339; by default never." })),
  description: optional(Type.String()),
};

const REPLICATION_CHANGE = {
  connections: optional(
    Type.Array(Type.String({ description: "`host:port` of another Big Peer." })),
  ),
  queriesByCollection: optional(Type.Record(Type.String(), Type.Array(Type.String()))),
  attachments: optional(Type.Union([Type.Literal("onDemand"), Type.Literal("eager")])),
};

const SELECTION_CHANGE = {
  collection: optional(Type.String()),
  query: optional(Type.String({ description: "A filter; by default all documents." })),
  events: optional(
    Type.Array(Type.Enum([...CHANGE_TYPES]), { description: "By default all of them." }),
  ),
};

const WEBHOOK_CHANGE = {
  ...SELECTION_CHANGE,
  url: optional(Type.String({ description: "With `https:` or `http:`." })),
  secret: optional(
    Type.String({
      description: "`whsec_` and 24 to 64 bytes in base64. A new webhook without one gets one.",
    }),
  ),
  allowPrivate: optional(
    Type.Boolean({
      description: "Whether the URL may lead to an address that is not on the public internet.",
    }),
  ),
};

const SINK_CHANGE = {
  ...SELECTION_CHANGE,
  servers: optional(
    Type.Array(Type.String({ description: "`nats://host:port` or `tls://host:port`." })),
  ),
  subject: optional(
    Type.String({
      description: `The subject, with any of {app}, {collection}, {type} and {id}; by default \`${DEFAULT_SUBJECT}\`.`,
    }),
  ),
  user: optional(Type.String()),
  password: optional(Type.String()),
  token: optional(Type.String()),
};

/** Fields that a webhook or sink shows and no request can set. */
const PAUSED = { isPaused: optional(Type.Boolean()) };

const SETTINGS = { strictV4: Type.Boolean(), unknownCollectionsAreEmpty: Type.Boolean() };

const SETTINGS_CHANGE = {
  strictV4: optional(Type.Boolean()),
  unknownCollectionsAreEmpty: optional(Type.Boolean()),
};

/** Fields that a key shows and no request can set. */
const KEY_TIMES = { createdAt: optional(Type.String()), lastUsedAt: optional(Type.String()) };

const NewApp = closed("NewApp", {
  name: NAME,
  appId: optional(Type.String({ description: "A UUID; by default a random one." })),
  authProviders: optional(ANY_OBJECT),
});
const AppChange = closed("AppChange", {
  name: SAME_NAME,
  appId: optional(Type.String()),
  authProviders: ANY_OBJECT,
});
const NewApiKey = closed("NewApiKey", { name: NAME, ...KEY_CONTENT });
const ApiKeyChange = closed("ApiKeyChange", { name: SAME_NAME, ...KEY_CONTENT, ...KEY_TIMES });
const ApiKeyRotation = closed("ApiKeyRotation", {
  graceSeconds: optional(
    Type.Integer({
      minimum: 0,
      maximum: KEY_GRACE_SECONDS_MAX,
      description: "How long the old text of the key still works; by default 0.",
    }),
  ),
});
const NewReplication = closed("NewReplication", { name: NAME, ...REPLICATION_CHANGE });
const ReplicationUpdate = closed("ReplicationChange", { name: SAME_NAME, ...REPLICATION_CHANGE });
const ReplicationSecret = closed("ReplicationSecret", {
  secret: Type.String({ description: "16 to 1,024 ASCII characters without spaces." }),
});
const NewWebhook = closed("NewWebhook", { name: NAME, ...WEBHOOK_CHANGE });
const WebhookUpdate = closed("WebhookChange", { name: SAME_NAME, ...WEBHOOK_CHANGE, ...PAUSED });
const NewSink = closed("NewSink", { name: NAME, ...SINK_CHANGE });
const SinkUpdate = closed("SinkChange", { name: SAME_NAME, ...SINK_CHANGE, ...PAUSED });
const Resume = closed("Resume", {
  from: optional(
    Type.Enum(["position", "now", "oldest"], {
      description: "Where deliveries go on: where they stopped (default), or at another position.",
    }),
  ),
});
const NewProvider = closed("NewProvider", { name: NAME, config: ANY_OBJECT });
const ProviderChange = closed("ProviderChange", { name: SAME_NAME, config: ANY_OBJECT });
const SeeAs = closed("SeeAs", {
  key: optional(Type.String({ description: "The name of an API key of the app." })),
  provider: optional(Type.String({ description: "The name of an auth provider of the app." })),
  permissions: Type.Optional(
    Type.Unsafe<Value>({ description: "`read` and `write`, like the permissions of an API key." }),
  ),
  userId: optional(Type.String({ description: "The user, for `provider` or `permissions`." })),
  claims: optional(ANY_OBJECT),
});
const ConsoleQueryRequest = queryRequestWith<ConsoleQuery>("ConsoleQueryRequest", {
  as: optional(SeeAs),
});
const PermissionTrial = closed("PermissionTrial", {
  permissions: Type.Unsafe<Value>({
    description: "`read` and `write`, like the permissions of an API key.",
  }),
  userId: optional(Type.String({ description: "The user, if the permissions name the caller." })),
  claims: optional(ANY_OBJECT),
  collections: optional(Type.Array(Type.String(), { description: "By default all of the app." })),
});
const ProviderTest = closed("ProviderTest", {
  token: Type.String({ description: "A token as a client sends it with a login." }),
});
const SignIn = closed("SignIn", {
  token: Type.String({ description: "The console token, or the admin token of the server." }),
});
/** Also the answer. */
const Settings = closed("Settings", SETTINGS);
const SettingsChange = closed("SettingsChange", SETTINGS_CHANGE);

/** All bodies of requests, for the OpenAPI document. */
export const REQUEST_SCHEMAS: readonly TSchema[] = [
  NewApp,
  AppChange,
  NewApiKey,
  ApiKeyChange,
  ApiKeyRotation,
  NewReplication,
  ReplicationUpdate,
  ReplicationSecret,
  NewWebhook,
  WebhookUpdate,
  NewSink,
  SinkUpdate,
  Resume,
  NewProvider,
  ProviderChange,
  SignIn,
  SeeAs,
  ConsoleQueryRequest,
  PermissionTrial,
  ProviderTest,
  Settings,
  SettingsChange,
];

export const checkNewApp: Check<AppBody> = compileCheck(NewApp);
export const checkAppChange: Check<AppChangeBody> = compileCheck(AppChange);
export const checkNewKey: Check<KeyBody> = compileCheck(NewApiKey);
export const checkKeyChange: Check<KeyChangeBody> = compileCheck(ApiKeyChange);
export const checkRotation: Check<RotationBody> = compileCheck(ApiKeyRotation);
export const checkNewReplication: Check<ReplicationBody> = compileCheck(NewReplication);
export const checkReplicationChange: Check<ReplicationChangeBody> = compileCheck(ReplicationUpdate);
export const checkReplicationSecret: Check<ReplicationSecretBody> = compileCheck(ReplicationSecret);
export const checkNewWebhook: Check<WebhookBody> = compileCheck(NewWebhook);
export const checkWebhookChange: Check<WebhookChangeBody> = compileCheck(WebhookUpdate);
export const checkNewSink: Check<SinkBody> = compileCheck(NewSink);
export const checkSinkChange: Check<SinkChangeBody> = compileCheck(SinkUpdate);
export const checkResume: Check<ResumeBody> = compileCheck(Resume);
export const checkNewProvider: Check<ProviderBody> = compileCheck(NewProvider);
export const checkProviderChange: Check<ProviderChangeBody> = compileCheck(ProviderChange);
export const checkPermissionTrial: Check<PermissionTrialBody> = compileCheck(PermissionTrial);
export const checkProviderTest: Check<ProviderTestBody> = compileCheck(ProviderTest);
export const checkConsoleQuery: Check<ConsoleQuery> = compileCheck(ConsoleQueryRequest);
export const checkSignIn: Check<SignInBody> = compileCheck(SignIn);
export const checkSettings: Check<SettingsBody> = compileCheck(Settings);
export const checkSettingsChange: Check<SettingsChangeBody> = compileCheck(SettingsChange);

function closed<P extends Record<string, TSchema>>(title: string, properties: P) {
  return Type.Object(properties, { title, additionalProperties: false });
}

function optional<S extends TSchema>(schema: S) {
  return Type.Optional(Type.Union([schema, Type.Null()]));
}
