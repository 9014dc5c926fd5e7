/**
 * The bodies of the management API, with their checks. Nothing else may be in them: a field that is
 * misspelt would be a setting that silently does not hold. What may be left out may also be null.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import { KEY_GRACE_SECONDS_MAX } from "../limits.ts";
import { AnyValue, type Check, compileCheck, type TSchema, Type } from "../schema.ts";

export interface NewApp {
  readonly name: string;
  readonly appId?: string | null;
  readonly authProviders?: ValueObject | null;
}

export interface AppChange {
  readonly authProviders: ValueObject;
}

export interface KeyContent {
  readonly permissions: Value;
  readonly expiresAt?: string | null;
  readonly description?: string | null;
}

export interface NewKey extends KeyContent {
  readonly name: string;
}

export interface Rotation {
  readonly graceSeconds?: number | null;
}

export interface QueriesByCollection {
  readonly [collection: string]: readonly string[];
}

/** Null empties a field; what is absent stays. */
export interface ReplicationChange {
  readonly connections?: readonly string[] | null;
  readonly queriesByCollection?: QueriesByCollection | null;
}

export interface NewReplication extends ReplicationChange {
  readonly name: string;
}

export interface ProviderChange {
  readonly config: ValueObject;
}

export interface NewProvider extends ProviderChange {
  readonly name: string;
}

export interface ShownSettings {
  readonly strictV4: boolean;
  readonly unknownCollectionsAreEmpty: boolean;
}

const NAME = Type.String();
const ANY_OBJECT = Type.Record(Type.String(), AnyValue);

const KEY_CONTENT = {
  permissions: ANY_OBJECT,
  expiresAt: optional(Type.String()),
  description: optional(Type.String()),
};

const REPLICATION_CHANGE = {
  connections: optional(Type.Array(Type.String())),
  queriesByCollection: optional(Type.Record(Type.String(), Type.Array(Type.String()))),
};

const SETTINGS = { strictV4: Type.Boolean(), unknownCollectionsAreEmpty: Type.Boolean() };

const SETTINGS_CHANGE = {
  strictV4: Type.Optional(Type.Boolean()),
  unknownCollectionsAreEmpty: Type.Optional(Type.Boolean()),
};

export const checkNewApp: Check<NewApp> = compileCheck(
  closed({ name: NAME, appId: optional(Type.String()), authProviders: optional(ANY_OBJECT) }),
);
export const checkAppChange: Check<AppChange> = compileCheck(closed({ authProviders: ANY_OBJECT }));
export const checkNewKey: Check<NewKey> = compileCheck(closed({ name: NAME, ...KEY_CONTENT }));
export const checkKeyContent: Check<KeyContent> = compileCheck(closed(KEY_CONTENT));
export const checkRotation: Check<Rotation> = compileCheck(
  closed({ graceSeconds: optional(Type.Integer({ minimum: 0, maximum: KEY_GRACE_SECONDS_MAX })) }),
);
export const checkNewReplication: Check<NewReplication> = compileCheck(
  closed({ name: NAME, ...REPLICATION_CHANGE }),
);
export const checkReplicationChange: Check<ReplicationChange> = compileCheck(
  closed(REPLICATION_CHANGE),
);
export const checkNewProvider: Check<NewProvider> = compileCheck(
  closed({ name: NAME, config: ANY_OBJECT }),
);
export const checkProviderChange: Check<ProviderChange> = compileCheck(
  closed({ config: ANY_OBJECT }),
);
export const checkSettings: Check<ShownSettings> = compileCheck(closed(SETTINGS));
export const checkSettingsChange: Check<Partial<ShownSettings>> = compileCheck(
  closed(SETTINGS_CHANGE),
);

function closed<P extends Record<string, TSchema>>(properties: P) {
  return Type.Object(properties, { additionalProperties: false });
}

function optional<S extends TSchema>(schema: S) {
  return Type.Optional(Type.Union([schema, Type.Null()]));
}
