/**
 * Management: the management API as methods, one for each operation. Those on webhooks and sinks
 * are in objects of their own.
 */

import { pathText } from "./address.ts";
import { Destinations } from "./destinations.ts";
import { type Answer, type Body, ManagementCalls, type PageOptions } from "./management-calls.ts";
import type { CallOptions } from "./options.ts";
import type { Send } from "./request.ts";

/** The management API; see {@link BigPeerClient.management}. */
export class Management {
  /** Webhooks: HTTP endpoints that get the changes of an app. */
  readonly webhooks: Destinations<"webhook">;
  /** Sinks: streams of NATS JetStream that get the changes of an app. */
  readonly sinks: Destinations<"sink">;
  readonly #calls: ManagementCalls;

  constructor(send: Send) {
    this.#calls = new ManagementCalls(send);
    this.webhooks = new Destinations(this.#calls, "webhook");
    this.sinks = new Destinations(this.#calls, "sink");
  }

  /** Lists apps. */
  listApps(options: PageOptions = {}): Answer<"list_apps"> {
    return this.#calls.list<"list_apps">(pathText("app"), options);
  }

  /** Creates an app. */
  createApp(app: Body<"create_app">, options: CallOptions = {}): Answer<"create_app"> {
    return this.#calls.call<"create_app">("POST", pathText("app"), options, app);
  }

  /** Reads an app. */
  getApp(app: string, options: CallOptions = {}): Answer<"get_app"> {
    return this.#calls.call<"get_app">("GET", pathText("app", app), options);
  }

  /** Replaces the auth providers of an app. */
  replaceApp(
    app: string,
    change: Body<"replace_app">,
    options: CallOptions = {},
  ): Answer<"replace_app"> {
    return this.#calls.call<"replace_app">("PUT", pathText("app", app), options, change);
  }

  /** The same as `replaceApp`. */
  updateApp(
    app: string,
    change: Body<"update_app">,
    options: CallOptions = {},
  ): Answer<"update_app"> {
    return this.#calls.call<"update_app">("PATCH", pathText("app", app), options, change);
  }

  /** Deletes an app. It can be restored for a while. */
  deleteApp(app: string, options: CallOptions = {}): Answer<"delete_app"> {
    return this.#calls.call<"delete_app">("DELETE", pathText("app", app), options);
  }

  /** Lists deleted apps that can be restored. */
  listDeletedApps(options: PageOptions = {}): Answer<"list_deleted_apps"> {
    return this.#calls.list<"list_deleted_apps">(pathText("deletedApp"), options);
  }

  /** Restores a deleted app, by its id. */
  restoreApp(appId: string, options: CallOptions = {}): Answer<"restore_app"> {
    return this.#calls.call<"restore_app">(
      "POST",
      pathText("deletedApp", appId, "restore"),
      options,
    );
  }

  /** Lists the API keys of an app. */
  listApiKeys(app: string, options: PageOptions = {}): Answer<"list_api_keys"> {
    return this.#calls.list<"list_api_keys">(pathText("app", app, "apiKey"), options);
  }

  /** Creates an API key. The answer is its text, which the server shows only here. */
  createApiKey(
    app: string,
    key: Body<"create_api_key">,
    options: CallOptions = {},
  ): Answer<"create_api_key"> {
    return this.#calls.call<"create_api_key">("POST", pathText("app", app, "apiKey"), options, key);
  }

  /** Reads an API key. */
  getApiKey(app: string, key: string, options: CallOptions = {}): Answer<"get_api_key"> {
    return this.#calls.call<"get_api_key">("GET", pathText("app", app, "apiKey", key), options);
  }

  /** Replaces permissions, expiry and description of an API key. Its text stays. */
  replaceApiKey(
    app: string,
    key: string,
    change: Body<"replace_api_key">,
    options: CallOptions = {},
  ): Answer<"replace_api_key"> {
    return this.#calls.call<"replace_api_key">(
      "PUT",
      pathText("app", app, "apiKey", key),
      options,
      change,
    );
  }

  /** Deletes an API key. */
  deleteApiKey(app: string, key: string, options: CallOptions = {}): Answer<"delete_api_key"> {
    return this.#calls.call<"delete_api_key">(
      "DELETE",
      pathText("app", app, "apiKey", key),
      options,
    );
  }

  /** Creates a new text for an API key. */
  rotateApiKey(
    app: string,
    key: string,
    rotation: Body<"rotate_api_key"> = {},
    options: CallOptions = {},
  ): Answer<"rotate_api_key"> {
    return this.#calls.call<"rotate_api_key">(
      "POST",
      pathText("app", app, "apiKey", key, "rotate"),
      options,
      rotation,
    );
  }

  /** Reads the settings of an app. */
  getSettings(app: string, options: CallOptions = {}): Answer<"get_settings"> {
    return this.#calls.call<"get_settings">("GET", pathText("app", app, "settings"), options);
  }

  /** Sets all settings of an app. */
  replaceSettings(
    app: string,
    settings: Body<"replace_settings">,
    options: CallOptions = {},
  ): Answer<"replace_settings"> {
    return this.#calls.call<"replace_settings">(
      "PUT",
      pathText("app", app, "settings"),
      options,
      settings,
    );
  }

  /** Sets some settings of an app. */
  updateSettings(
    app: string,
    change: Body<"update_settings">,
    options: CallOptions = {},
  ): Answer<"update_settings"> {
    return this.#calls.call<"update_settings">(
      "PATCH",
      pathText("app", app, "settings"),
      options,
      change,
    );
  }

  /** Creates a new key for sessions. Two calls end all sessions of an app. */
  rotateSessionKey(app: string, options: CallOptions = {}): Answer<"rotate_session_key"> {
    return this.#calls.call<"rotate_session_key">(
      "POST",
      pathText("app", app, "sessionKey", "rotate"),
      options,
    );
  }

  /** Lists the auth providers of an app. */
  listProviders(app: string, options: PageOptions = {}): Answer<"list_providers"> {
    return this.#calls.list<"list_providers">(pathText("app", app, "provider"), options);
  }

  /** Creates or replaces an auth provider. The answer is the app. */
  createProvider(
    app: string,
    provider: Body<"create_provider">,
    options: CallOptions = {},
  ): Answer<"create_provider"> {
    return this.#calls.call<"create_provider">(
      "POST",
      pathText("app", app, "provider"),
      options,
      provider,
    );
  }

  /** Reads an auth provider. */
  getProvider(app: string, provider: string, options: CallOptions = {}): Answer<"get_provider"> {
    return this.#calls.call<"get_provider">(
      "GET",
      pathText("app", app, "provider", provider),
      options,
    );
  }

  /** Replaces an auth provider. */
  replaceProvider(
    app: string,
    provider: string,
    change: Body<"replace_provider">,
    options: CallOptions = {},
  ): Answer<"replace_provider"> {
    return this.#calls.call<"replace_provider">(
      "PUT",
      pathText("app", app, "provider", provider),
      options,
      change,
    );
  }

  /** Deletes an auth provider. Its sessions end. */
  deleteProvider(
    app: string,
    provider: string,
    options: CallOptions = {},
  ): Answer<"delete_provider"> {
    return this.#calls.call<"delete_provider">(
      "DELETE",
      pathText("app", app, "provider", provider),
      options,
    );
  }

  /** The same as `deleteProvider`, for networks that refuse DELETE. */
  deleteProviderByPost(
    app: string,
    provider: string,
    options: CallOptions = {},
  ): Answer<"delete_provider_by_post"> {
    return this.#calls.call<"delete_provider_by_post">(
      "POST",
      pathText("app", app, "provider", provider),
      options,
    );
  }

  /** Creates a secret for the signatures of a webhook. The server shows it only here. */
  createWebhookSecret(
    app: string,
    provider: string,
    options: CallOptions = {},
  ): Answer<"create_webhook_secret"> {
    return this.#calls.call<"create_webhook_secret">(
      "POST",
      pathText("app", app, "provider", provider, "webhookSecret"),
      options,
    );
  }

  /** Lists the replications of an app. */
  listReplications(app: string, options: PageOptions = {}): Answer<"list_replications"> {
    return this.#calls.list<"list_replications">(
      pathText("app", app, "bigPeerReplication"),
      options,
    );
  }

  /** Creates a replication. */
  createReplication(
    app: string,
    replication: Body<"create_replication">,
    options: CallOptions = {},
  ): Answer<"create_replication"> {
    return this.#calls.call<"create_replication">(
      "POST",
      pathText("app", app, "bigPeerReplication"),
      options,
      replication,
    );
  }

  /** Reads a replication. */
  getReplication(
    app: string,
    replication: string,
    options: CallOptions = {},
  ): Answer<"get_replication"> {
    return this.#calls.call<"get_replication">(
      "GET",
      pathText("app", app, "bigPeerReplication", replication),
      options,
    );
  }

  /** The same as `updateReplication`. */
  replaceReplication(
    app: string,
    replication: string,
    change: Body<"replace_replication">,
    options: CallOptions = {},
  ): Answer<"replace_replication"> {
    return this.#calls.call<"replace_replication">(
      "PUT",
      pathText("app", app, "bigPeerReplication", replication),
      options,
      change,
    );
  }

  /** Changes a replication. An absent field stays the same, and null empties it. */
  updateReplication(
    app: string,
    replication: string,
    change: Body<"update_replication">,
    options: CallOptions = {},
  ): Answer<"update_replication"> {
    return this.#calls.call<"update_replication">(
      "PATCH",
      pathText("app", app, "bigPeerReplication", replication),
      options,
      change,
    );
  }

  /** Deletes a replication. */
  deleteReplication(
    app: string,
    replication: string,
    options: CallOptions = {},
  ): Answer<"delete_replication"> {
    return this.#calls.call<"delete_replication">(
      "DELETE",
      pathText("app", app, "bigPeerReplication", replication),
      options,
    );
  }

  /** Reads the state of the links of a replication. */
  getReplicationStatus(
    app: string,
    replication: string,
    options: CallOptions = {},
  ): Answer<"get_replication_status"> {
    return this.#calls.call<"get_replication_status">(
      "GET",
      pathText("app", app, "bigPeerReplication", replication, "status"),
      options,
    );
  }

  /** Sets the replication secret of an app. */
  setReplicationSecret(
    app: string,
    secret: Body<"set_replication_secret">,
    options: CallOptions = {},
  ): Answer<"set_replication_secret"> {
    return this.#calls.call<"set_replication_secret">(
      "PUT",
      pathText("app", app, "replicationSecret"),
      options,
      secret,
    );
  }

  /** Removes the replication secret of an app. */
  deleteReplicationSecret(
    app: string,
    options: CallOptions = {},
  ): Answer<"delete_replication_secret"> {
    return this.#calls.call<"delete_replication_secret">(
      "DELETE",
      pathText("app", app, "replicationSecret"),
      options,
    );
  }

  /** Lists changes, newest first. */
  listAuditEntries(options: PageOptions = {}): Answer<"list_audit_entries"> {
    return this.#calls.list<"list_audit_entries">(pathText("audit"), options);
  }

  /** Lists statements that ran on connected devices, newest first. */
  listRemoteAuditEntries(options: PageOptions = {}): Answer<"list_remote_audit_entries"> {
    return this.#calls.list<"list_remote_audit_entries">(pathText("audit", "remote"), options);
  }

  /** Reads the state of the cluster. */
  getCluster(options: CallOptions = {}): Answer<"get_cluster"> {
    return this.#calls.call<"get_cluster">("GET", pathText("cluster"), options);
  }
}
