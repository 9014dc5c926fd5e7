/**
 * Management texts of apps, with their API keys, settings, sessions and auth providers.
 */

import type { Value } from "@bigpeer/protocol";
import { type ManagementText, META } from "./management-text.ts";

const APP_ID = "5f4a3f26-8a6e-4d0f-9f0d-0f3a1c2b4d5e";

const APP_EXAMPLE: Value = {
  name: "shop",
  appId: APP_ID,
  authProviders: { staff: { type: "tokenWebhook", webhookUrl: "https://shop.example.com/login" } },
};

const PERMISSIONS = {
  remoteQuery: false,
  read: { everything: true, queriesByCollection: {} },
  write: { everything: false, queriesByCollection: { orders: ["true"] } },
};

const KEY_EXAMPLE: Value = {
  name: "till",
  description: "the till in the hall",
  permissions: PERMISSIONS,
  expiresAt: null,
  createdAt: "2026-01-31T12:00:00.000Z",
  lastUsedAt: null,
};

const KEY_REQUEST = { description: "the till in the hall", permissions: PERMISSIONS };

const KEY_TEXT = "bp_0a1b2c3d_…";

const APP_CHANGE: Value = {
  authProviders: { staff: { type: "tokenWebhook", webhookUrl: "https://shop.example.com/login" } },
};

const PROVIDER: Value = {
  name: "staff",
  config: { type: "tokenWebhook", webhookUrl: "https://shop.example.com/login" },
};

const APPS: readonly ManagementText[] = [
  {
    operationId: "list_apps",
    method: "GET",
    path: "/app",
    tag: "apps",
    summary: "List apps",
    response: "AppList",
    example: { data: [{ name: "shop", appId: APP_ID }], meta: META },
    isList: true,
  },
  {
    operationId: "create_app",
    method: "POST",
    path: "/app",
    tag: "apps",
    summary: "Create an app",
    description: "The app has its own store.",
    request: "NewApp",
    requestExample: { name: "shop", appId: APP_ID },
    response: "App",
    example: { name: "shop", appId: APP_ID, authProviders: {} },
    conflict: "An app has this name, or there are too many apps.",
  },
  {
    operationId: "get_app",
    method: "GET",
    path: "/app/{app}",
    tag: "apps",
    summary: "Read an app",
    response: "App",
    example: APP_EXAMPLE,
  },
  {
    operationId: "replace_app",
    method: "PUT",
    path: "/app/{app}",
    tag: "apps",
    summary: "Replace the auth providers of an app",
    description: "Providers that are absent in the body are removed. An absent secret is kept.",
    request: "AppChange",
    requestExample: APP_CHANGE,
    response: "App",
    example: APP_EXAMPLE,
    conflict: "There are too many providers.",
  },
  {
    operationId: "update_app",
    method: "PATCH",
    path: "/app/{app}",
    tag: "apps",
    summary: "Replace the auth providers of an app",
    description: "The same as PUT.",
    request: "AppChange",
    requestExample: APP_CHANGE,
    response: "App",
    example: APP_EXAMPLE,
    conflict: "There are too many providers.",
  },
  {
    operationId: "delete_app",
    method: "DELETE",
    path: "/app/{app}",
    tag: "apps",
    summary: "Delete an app",
    description: "It can be restored until its data is removed; its keys and replications cannot.",
    response: "Done",
    example: null,
  },
  {
    operationId: "list_deleted_apps",
    method: "GET",
    path: "/deletedApp",
    tag: "apps",
    summary: "List deleted apps that can be restored",
    response: "DeletedAppList",
    example: {
      data: [
        {
          name: "shop",
          appId: APP_ID,
          deletedAt: "2026-01-31T12:00:00.000Z",
          removedAfter: "2026-02-07T12:00:00.000Z",
        },
      ],
      meta: META,
    },
    isList: true,
  },
  {
    operationId: "restore_app",
    method: "POST",
    path: "/deletedApp/{app_id}/restore",
    tag: "apps",
    summary: "Restore a deleted app",
    description: "With its data, providers and settings.",
    response: "App",
    example: APP_EXAMPLE,
    conflict: "Another app has the name now.",
  },
];

const KEYS: readonly ManagementText[] = [
  {
    operationId: "list_api_keys",
    method: "GET",
    path: "/app/{app}/apiKey",
    tag: "apiKeys",
    summary: "List API keys",
    response: "ApiKeyList",
    example: { data: [KEY_EXAMPLE], meta: META },
    isList: true,
  },
  {
    operationId: "create_api_key",
    method: "POST",
    path: "/app/{app}/apiKey",
    tag: "apiKeys",
    summary: "Create an API key",
    description: "The answer is the text of the key. It is shown only here.",
    request: "NewApiKey",
    requestExample: { name: "till", ...KEY_REQUEST },
    response: "ApiKeyText",
    example: KEY_TEXT,
    conflict: "The app has a key of this name, or too many keys.",
  },
  {
    operationId: "get_api_key",
    method: "GET",
    path: "/app/{app}/apiKey/{key}",
    tag: "apiKeys",
    summary: "Read an API key",
    response: "ApiKey",
    example: KEY_EXAMPLE,
  },
  {
    operationId: "replace_api_key",
    method: "PUT",
    path: "/app/{app}/apiKey/{key}",
    tag: "apiKeys",
    summary: "Replace an API key",
    description: "Its text stays the same. An absent field is removed.",
    request: "ApiKeyChange",
    requestExample: KEY_REQUEST,
    response: "ApiKey",
    example: KEY_EXAMPLE,
  },
  {
    operationId: "delete_api_key",
    method: "DELETE",
    path: "/app/{app}/apiKey/{key}",
    tag: "apiKeys",
    summary: "Delete an API key",
    response: "Done",
    example: null,
  },
  {
    operationId: "rotate_api_key",
    method: "POST",
    path: "/app/{app}/apiKey/{key}/rotate",
    tag: "apiKeys",
    summary: "Create a new text for an API key",
    request: "ApiKeyRotation",
    requestExample: { graceSeconds: 3600 },
    isBodyOptional: true,
    response: "ApiKeyText",
    example: KEY_TEXT,
  },
];

const APP_SETTINGS: readonly ManagementText[] = [
  {
    operationId: "get_settings",
    method: "GET",
    path: "/app/{app}/settings",
    tag: "settings",
    summary: "Read the settings of an app",
    response: "Settings",
    example: { strictV4: false, unknownCollectionsAreEmpty: false },
  },
  {
    operationId: "replace_settings",
    method: "PUT",
    path: "/app/{app}/settings",
    tag: "settings",
    summary: "Set all settings of an app",
    request: "Settings",
    requestExample: { strictV4: false, unknownCollectionsAreEmpty: true },
    response: "Settings",
    example: { strictV4: false, unknownCollectionsAreEmpty: true },
  },
  {
    operationId: "update_settings",
    method: "PATCH",
    path: "/app/{app}/settings",
    tag: "settings",
    summary: "Set some settings of an app",
    request: "SettingsChange",
    requestExample: { unknownCollectionsAreEmpty: true },
    response: "Settings",
    example: { strictV4: false, unknownCollectionsAreEmpty: true },
  },
  {
    operationId: "rotate_session_key",
    method: "POST",
    path: "/app/{app}/sessionKey/rotate",
    tag: "settings",
    summary: "Create a new key for sessions",
    description: "Existing sessions stay valid until the next call; two calls end all sessions.",
    response: "Done",
    example: null,
  },
];

const PROVIDERS: readonly ManagementText[] = [
  {
    operationId: "list_providers",
    method: "GET",
    path: "/app/{app}/provider",
    tag: "providers",
    summary: "List auth providers",
    response: "ProviderList",
    example: { data: [PROVIDER], meta: META },
    isList: true,
  },
  {
    operationId: "create_provider",
    method: "POST",
    path: "/app/{app}/provider",
    tag: "providers",
    summary: "Create or replace an auth provider",
    description: "The answer is the app.",
    request: "NewProvider",
    requestExample: PROVIDER,
    response: "App",
    example: APP_EXAMPLE,
    conflict: "There are too many providers.",
  },
  {
    operationId: "get_provider",
    method: "GET",
    path: "/app/{app}/provider/{provider}",
    tag: "providers",
    summary: "Read an auth provider",
    response: "Provider",
    example: PROVIDER,
  },
  {
    operationId: "replace_provider",
    method: "PUT",
    path: "/app/{app}/provider/{provider}",
    tag: "providers",
    summary: "Replace an auth provider",
    description: "An absent secret is kept if the provider keeps its type.",
    request: "ProviderChange",
    requestExample: PROVIDER,
    response: "Provider",
    example: PROVIDER,
  },
  {
    operationId: "delete_provider",
    method: "DELETE",
    path: "/app/{app}/provider/{provider}",
    tag: "providers",
    summary: "Delete an auth provider",
    description: "Its sessions end.",
    response: "Done",
    example: null,
  },
  {
    operationId: "delete_provider_by_post",
    method: "POST",
    path: "/app/{app}/provider/{provider}",
    tag: "providers",
    summary: "Delete an auth provider, for clients without DELETE",
    description: "The same as DELETE.",
    response: "Done",
    example: null,
  },
  {
    operationId: "create_webhook_secret",
    method: "POST",
    path: "/app/{app}/provider/{provider}/webhookSecret",
    tag: "providers",
    summary: "Create a secret for the signatures of a webhook",
    description: "The previous secret also signs until the next call.",
    response: "WebhookSecret",
    example: "q83vASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4k=",
  },
];

export const APP_TEXTS: readonly ManagementText[] = [
  ...APPS,
  ...KEYS,
  ...APP_SETTINGS,
  ...PROVIDERS,
];
