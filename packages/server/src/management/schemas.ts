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
import { KEY_GRACE_SECONDS_MAX } from "../limits/limits.ts";
import type { ReplicationChange } from "../registry/replications.ts";
import { AnyValue, type Check, compileCheck, type TSchema, Type } from "../validation/schema.ts";

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

export interface ProviderBody {
  readonly name: string;
  readonly config: ValueObject;
}

export interface ProviderChangeBody extends Named {
  readonly config: ValueObject;
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
const NewProvider = closed("NewProvider", { name: NAME, config: ANY_OBJECT });
const ProviderChange = closed("ProviderChange", { name: SAME_NAME, config: ANY_OBJECT });
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
  NewProvider,
  ProviderChange,
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
export const checkNewProvider: Check<ProviderBody> = compileCheck(NewProvider);
export const checkProviderChange: Check<ProviderChangeBody> = compileCheck(ProviderChange);
export const checkSettings: Check<SettingsBody> = compileCheck(Settings);
export const checkSettingsChange: Check<SettingsChangeBody> = compileCheck(SettingsChange);

function closed<P extends Record<string, TSchema>>(title: string, properties: P) {
  return Type.Object(properties, { title, additionalProperties: false });
}

function optional<S extends TSchema>(schema: S) {
  return Type.Optional(Type.Union([schema, Type.Null()]));
}
