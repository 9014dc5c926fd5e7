/**
 * Management schemas: the request bodies of the management API with their checks. Unknown fields
 * are refused, because a misspelt setting would silently have no effect. Optional fields may also
 * be null.
 *
 * The answer of a GET may be sent back (M31): so the body of a change may have the name, which must
 * equal the one of the path, and fields that only the server sets.
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
  permissions: ANY_OBJECT,
  expiresAt: optional(Type.String()),
  description: optional(Type.String()),
};

const REPLICATION_CHANGE = {
  connections: optional(Type.Array(Type.String())),
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

export const checkNewApp: Check<AppBody> = compileCheck(
  closed({ name: NAME, appId: optional(Type.String()), authProviders: optional(ANY_OBJECT) }),
);
export const checkAppChange: Check<AppChangeBody> = compileCheck(
  closed({ name: SAME_NAME, appId: optional(Type.String()), authProviders: ANY_OBJECT }),
);
export const checkNewKey: Check<KeyBody> = compileCheck(closed({ name: NAME, ...KEY_CONTENT }));
export const checkKeyChange: Check<KeyChangeBody> = compileCheck(
  closed({ name: SAME_NAME, ...KEY_CONTENT, ...KEY_TIMES }),
);
export const checkRotation: Check<RotationBody> = compileCheck(
  closed({ graceSeconds: optional(Type.Integer({ minimum: 0, maximum: KEY_GRACE_SECONDS_MAX })) }),
);
export const checkNewReplication: Check<ReplicationBody> = compileCheck(
  closed({ name: NAME, ...REPLICATION_CHANGE }),
);
export const checkReplicationChange: Check<ReplicationChangeBody> = compileCheck(
  closed({ name: SAME_NAME, ...REPLICATION_CHANGE }),
);
export const checkReplicationSecret: Check<ReplicationSecretBody> = compileCheck(
  closed({ secret: Type.String() }),
);
export const checkNewProvider: Check<ProviderBody> = compileCheck(
  closed({ name: NAME, config: ANY_OBJECT }),
);
export const checkProviderChange: Check<ProviderChangeBody> = compileCheck(
  closed({ name: SAME_NAME, config: ANY_OBJECT }),
);
export const checkSettings: Check<SettingsBody> = compileCheck(closed(SETTINGS));
export const checkSettingsChange: Check<SettingsChangeBody> = compileCheck(closed(SETTINGS_CHANGE));

function closed<P extends Record<string, TSchema>>(properties: P) {
  return Type.Object(properties, { additionalProperties: false });
}

function optional<S extends TSchema>(schema: S) {
  return Type.Optional(Type.Union([schema, Type.Null()]));
}
