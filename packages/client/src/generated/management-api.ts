/**
 * Types of the management API. scripts/client-schemas.mjs makes this file from the OpenAPI document.
 */

export type NewApp = {
  readonly name: string;
  /** A UUID; by default a random one. */
  readonly appId?: string | null | undefined;
  readonly authProviders?: { readonly [name: string]: unknown } | null | undefined;
};

export type AppChange = {
  readonly name?: string | null | undefined;
  readonly appId?: string | null | undefined;
  readonly authProviders: { readonly [name: string]: unknown };
};

export type NewApiKey = {
  readonly name: string;
  /** `read`, `write` and `remoteQuery`, like the permissions of an answer. */
  readonly permissions: { readonly [name: string]: unknown };
  /** A time of RFC 3339; by default never. */
  readonly expiresAt?: string | null | undefined;
  readonly description?: string | null | undefined;
};

export type ApiKeyChange = {
  readonly name?: string | null | undefined;
  /** `read`, `write` and `remoteQuery`, like the permissions of an answer. */
  readonly permissions: { readonly [name: string]: unknown };
  /** A time of RFC 3339; by default never. */
  readonly expiresAt?: string | null | undefined;
  readonly description?: string | null | undefined;
  readonly createdAt?: string | null | undefined;
  readonly lastUsedAt?: string | null | undefined;
};

export type ApiKeyRotation = {
  /** How long the old text of the key still works; by default 0. */
  readonly graceSeconds?: number | null | undefined;
};

export type NewReplication = {
  readonly name: string;
  readonly connections?: readonly string[] | null | undefined;
  readonly queriesByCollection?: { readonly [name: string]: readonly string[] } | null | undefined;
  readonly attachments?: "onDemand" | "eager" | null | undefined;
};

export type ReplicationChange = {
  readonly name?: string | null | undefined;
  readonly connections?: readonly string[] | null | undefined;
  readonly queriesByCollection?: { readonly [name: string]: readonly string[] } | null | undefined;
  readonly attachments?: "onDemand" | "eager" | null | undefined;
};

export type ReplicationSecret = {
  /** 16 to 1,024 ASCII characters without spaces. */
  readonly secret: string;
};

export type NewProvider = {
  readonly name: string;
  readonly config: { readonly [name: string]: unknown };
};

export type ProviderChange = {
  readonly name?: string | null | undefined;
  readonly config: { readonly [name: string]: unknown };
};

export type Settings = {
  readonly strictV4: boolean;
  readonly unknownCollectionsAreEmpty: boolean;
};

export type SettingsChange = {
  readonly strictV4?: boolean | null | undefined;
  readonly unknownCollectionsAreEmpty?: boolean | null | undefined;
};

export type App = {
  readonly name: string;
  /** A UUID. */
  readonly appId: string;
  readonly authProviders: { readonly [name: string]: AuthProvider };
};

/** Without its secrets. */
export type AuthProvider = AnonymousProvider | TokenWebhookProvider | JwtProvider;

export type AnonymousProvider = {
  readonly type: "anonymous";
  readonly permission: Permissions;
  /** In seconds. */
  readonly sessionLength: number;
  readonly loopbackOnly: boolean;
};

export type Permissions = {
  readonly remoteQuery: boolean;
  readonly read: AccessRule;
  readonly write: AccessRule;
};

export type AccessRule = {
  readonly everything: boolean;
  readonly queriesByCollection: { readonly [name: string]: readonly string[] };
};

export type TokenWebhookProvider = {
  readonly type: "tokenWebhook";
  readonly webhookUrl: string;
};

export type JwtProvider = {
  readonly type: "jwt";
  readonly jwks?: { readonly [name: string]: unknown } | undefined;
  readonly jwksUrl?: string | undefined;
  readonly issuer?: string | undefined;
  readonly audience?: string | readonly string[] | undefined;
  readonly algorithms?:
    | readonly ("HS256" | "RS256" | "PS256" | "ES256" | "EdDSA" | "Ed25519")[]
    | undefined;
  /** In seconds. */
  readonly clockTolerance?: number | undefined;
  readonly permission?: Permissions | undefined;
};

export type AppList = {
  readonly data: readonly AppSummary[];
  readonly meta: PageMeta;
};

/** An app without its auth providers. */
export type AppSummary = {
  readonly name: string;
  readonly appId: string;
};

/** Pages count from 1. */
export type PageMeta = {
  readonly page: number;
  readonly size: number;
  readonly totalPages: number;
};

export type DeletedAppList = {
  readonly data: readonly DeletedApp[];
  readonly meta: PageMeta;
};

export type DeletedApp = {
  readonly name: string;
  readonly appId: string;
  /** A time of RFC 3339, in UTC. */
  readonly deletedAt: string;
  /** From this time on its data may be removed. */
  readonly removedAfter: string;
};

/** Without its text, which is shown once. */
export type ApiKey = {
  readonly name: string;
  readonly description: string | null;
  readonly permissions: Permissions;
  /** A time of RFC 3339, in UTC. */
  readonly expiresAt: string | null;
  /** A time of RFC 3339, in UTC. */
  readonly createdAt: string;
  /** A time of RFC 3339, in UTC. */
  readonly lastUsedAt: string | null;
};

export type ApiKeyList = {
  readonly data: readonly ApiKey[];
  readonly meta: PageMeta;
};

export type Provider = {
  readonly name: string;
  readonly config: AuthProvider;
};

export type ProviderList = {
  readonly data: readonly Provider[];
  readonly meta: PageMeta;
};

export type Replication = {
  readonly name: string;
  readonly connections: readonly string[];
  readonly queriesByCollection: { readonly [name: string]: readonly string[] };
  readonly attachments?: "onDemand" | "eager" | undefined;
};

export type ReplicationList = {
  readonly data: readonly Replication[];
  readonly meta: PageMeta;
};

export type ReplicationStatus = {
  readonly name: string;
  readonly missingAttachments: number | null;
  readonly links: readonly Link[];
};

export type Link = {
  readonly direction: "dial" | "accept";
  readonly address: string;
  readonly state: "waiting" | "connecting" | "linked" | "duplicate" | "refused" | "no_secret";
  /** A time of RFC 3339, in UTC. */
  readonly since: string;
  readonly partner: string | null;
  /** A time of RFC 3339, in UTC. */
  readonly nextAttemptAt: string | null;
  readonly lastError: LinkError | null;
  readonly lag: {
    readonly transactions: number | null;
    readonly seconds: number | null;
  };
  readonly pulled: {
    readonly documents: number;
    readonly bytes: number;
    readonly transactions: number;
    readonly unchanged: number;
    readonly stale: number;
  };
  readonly served: {
    readonly documents: number;
    readonly bytes: number;
  };
  readonly subscriptions: readonly LinkSubscription[];
};

export type LinkError = {
  readonly code: string;
  readonly message: string;
  /** A time of RFC 3339, in UTC. */
  readonly at: string;
};

export type LinkSubscription = {
  readonly collection: string;
  readonly query: string;
  readonly state: "waiting" | "filling" | "live" | "behind" | "held";
  readonly transaction: number;
};

export type AuditEntryList = {
  readonly data: readonly AuditEntry[];
  readonly meta: PageMeta;
};

export type AuditEntry = {
  /** A time of RFC 3339, in UTC. */
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly detail: unknown;
  readonly requestId: string | null;
  readonly address: string | null;
};

export type ClusterStatus = {
  readonly cluster: string | null;
  readonly nodes: readonly ClusterNode[];
};

/** A node that does not answer has no stores here. */
export type ClusterNode = {
  readonly node: string;
  readonly url: string;
  readonly version: string;
  readonly entryFormat?: number | undefined;
  readonly isAlive: boolean;
  readonly heardMs: number;
  readonly ageSeconds?: number | undefined;
  readonly stores?: readonly ClusterStore[] | undefined;
};

export type ClusterStore = {
  readonly store: string;
  readonly role: string;
  readonly evaluator: string;
  readonly epoch: number;
  readonly sequence: number;
  readonly transactionId: number;
};

/** The text of an API key. It is shown once: the server keeps a hash. */
export type ApiKeyText = string;

/** 128 bytes in base64. It is shown once. */
export type WebhookSecret = string;

/** The change was made. */
export type Done = null;

export type Problem = {
  /** For programs. */
  readonly title:
    | "InvalidRequest"
    | "InvalidName"
    | "AppIdNotUnique"
    | "AppNameMismatch"
    | "InvalidApiKeyExpiryDate"
    | "Unauthorized"
    | "HostNotAllowed"
    | "OriginNotAllowed"
    | "NotFound"
    | "BigPeerNotFound"
    | "AppNotFound"
    | "ApiKeyNotFound"
    | "AuthProviderNotFound"
    | "BigPeerReplicationNotFound"
    | "MethodNotAllowed"
    | "RequestTimeout"
    | "AppNameNotUnique"
    | "ApiKeyNameNotUnique"
    | "BigPeerReplicationNameNotUnique"
    | "LimitReached"
    | "BodyTooLarge"
    | "UnsupportedMediaType"
    | "TooManyRequests"
    | "InternalError"
    | "Unavailable";
  /** For people. */
  readonly detail: string;
};

/** What each operation takes and answers, as far as it is JSON. */
export type Operations = {
  readonly list_apps: {
    readonly query: {
      /** From 1. */
      readonly page?: number | undefined;
      /** Entries of a page. By default a list is one page, if `page` is absent too. */
      readonly size?: number | undefined;
    };
    readonly response: AppList;
  };
  readonly create_app: {
    readonly request: NewApp;
    readonly response: App;
  };
  readonly get_app: {
    readonly response: App;
  };
  readonly replace_app: {
    readonly request: AppChange;
    readonly response: App;
  };
  readonly update_app: {
    readonly request: AppChange;
    readonly response: App;
  };
  readonly delete_app: {
    readonly response: Done;
  };
  readonly list_deleted_apps: {
    readonly query: {
      /** From 1. */
      readonly page?: number | undefined;
      /** Entries of a page. By default a list is one page, if `page` is absent too. */
      readonly size?: number | undefined;
    };
    readonly response: DeletedAppList;
  };
  readonly restore_app: {
    readonly response: App;
  };
  readonly list_api_keys: {
    readonly query: {
      /** From 1. */
      readonly page?: number | undefined;
      /** Entries of a page. By default a list is one page, if `page` is absent too. */
      readonly size?: number | undefined;
    };
    readonly response: ApiKeyList;
  };
  readonly create_api_key: {
    readonly request: NewApiKey;
    readonly response: ApiKeyText;
  };
  readonly get_api_key: {
    readonly response: ApiKey;
  };
  readonly replace_api_key: {
    readonly request: ApiKeyChange;
    readonly response: ApiKey;
  };
  readonly delete_api_key: {
    readonly response: Done;
  };
  readonly rotate_api_key: {
    readonly request: ApiKeyRotation;
    readonly response: ApiKeyText;
  };
  readonly get_settings: {
    readonly response: Settings;
  };
  readonly replace_settings: {
    readonly request: Settings;
    readonly response: Settings;
  };
  readonly update_settings: {
    readonly request: SettingsChange;
    readonly response: Settings;
  };
  readonly rotate_session_key: {
    readonly response: Done;
  };
  readonly list_providers: {
    readonly query: {
      /** From 1. */
      readonly page?: number | undefined;
      /** Entries of a page. By default a list is one page, if `page` is absent too. */
      readonly size?: number | undefined;
    };
    readonly response: ProviderList;
  };
  readonly create_provider: {
    readonly request: NewProvider;
    readonly response: App;
  };
  readonly get_provider: {
    readonly response: Provider;
  };
  readonly replace_provider: {
    readonly request: ProviderChange;
    readonly response: Provider;
  };
  readonly delete_provider: {
    readonly response: Done;
  };
  readonly delete_provider_by_post: {
    readonly response: Done;
  };
  readonly create_webhook_secret: {
    readonly response: WebhookSecret;
  };
  readonly list_replications: {
    readonly query: {
      /** From 1. */
      readonly page?: number | undefined;
      /** Entries of a page. By default a list is one page, if `page` is absent too. */
      readonly size?: number | undefined;
    };
    readonly response: ReplicationList;
  };
  readonly create_replication: {
    readonly request: NewReplication;
    readonly response: Replication;
  };
  readonly get_replication: {
    readonly response: Replication;
  };
  readonly replace_replication: {
    readonly request: ReplicationChange;
    readonly response: Replication;
  };
  readonly update_replication: {
    readonly request: ReplicationChange;
    readonly response: Replication;
  };
  readonly delete_replication: {
    readonly response: Done;
  };
  readonly get_replication_status: {
    readonly response: ReplicationStatus;
  };
  readonly set_replication_secret: {
    readonly request: ReplicationSecret;
    readonly response: Done;
  };
  readonly delete_replication_secret: {
    readonly response: Done;
  };
  readonly list_audit_entries: {
    readonly query: {
      /** From 1. */
      readonly page?: number | undefined;
      /** Entries of a page. By default a list is one page, if `page` is absent too. */
      readonly size?: number | undefined;
    };
    readonly response: AuditEntryList;
  };
  readonly list_remote_audit_entries: {
    readonly query: {
      /** From 1. */
      readonly page?: number | undefined;
      /** Entries of a page. By default a list is one page, if `page` is absent too. */
      readonly size?: number | undefined;
    };
    readonly response: AuditEntryList;
  };
  readonly get_cluster: {
    readonly response: ClusterStatus;
  };
};
