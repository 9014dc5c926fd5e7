/**
 * API key resources: `…/apiKey`, `…/apiKey/{key}` and `…/apiKey/{key}/rotate` list, create, change,
 * rotate and delete the API keys of an app. The text of a key is in the answer that creates it, and
 * nowhere else.
 */

import { permissionsValue, readPermissions } from "@bigpeer/engine/query";
import type { Value } from "@bigpeer/protocol";
import type { ApiKey, ApiKeyContent } from "../registry/api-key.ts";
import { readTime, showOptionalTime, showTime } from "../validation/time-text.ts";
import type { ManagementCall, Resource } from "./management-endpoint.ts";
import { pageBody } from "./page.ts";
import { checkKeyChange, checkNewKey, checkRotation, type KeyContent } from "./schemas.ts";

export const API_KEY_RESOURCES: readonly Resource[] = [
  {
    name: "manage_api_keys",
    path: "/app/{app}/apiKey",
    methods: {
      GET: (call) => pageBody(call.registry.keys.list(call.appId()), call.query, showKey),
      POST: createKey,
    },
  },
  {
    name: "manage_api_key",
    path: "/app/{app}/apiKey/{key}",
    methods: {
      GET: (call) => showKey(call.registry.keys.get(call.appId(), call.parameter("key"))),
      PUT: replaceKey,
      DELETE: deleteKey,
    },
  },
  {
    name: "rotate_api_key",
    path: "/app/{app}/apiKey/{key}/rotate",
    methods: { POST: rotateKey },
  },
];

function showKey({ name, permissions, description, ...times }: ApiKey): Value {
  return {
    name,
    description: description ?? null,
    permissions: permissionsValue(permissions),
    expiresAt: showOptionalTime(times.expiresAt),
    createdAt: showTime(times.createdAt),
    lastUsedAt: showOptionalTime(times.lastUsedAt),
  };
}

async function createKey(call: ManagementCall): Promise<Value> {
  const appId = call.appId();
  const { name, ...content } = await call.body(checkNewKey);
  return call.registry.keys.create(appId, { name, ...readContent(content) }, call.author);
}

async function replaceKey(call: ManagementCall): Promise<Value> {
  const appId = call.appId();
  const key = call.parameter("key");
  const { name, ...content } = await call.body(checkKeyChange);
  call.checkSame(name, key, "name");
  const { keys } = call.registry;
  return showKey(await keys.replace(appId, key, readContent(content), call.author));
}

async function deleteKey(call: ManagementCall): Promise<Value> {
  await call.registry.keys.remove(call.appId(), call.parameter("key"), call.author);
  return null;
}

async function rotateKey(call: ManagementCall): Promise<Value> {
  const appId = call.appId();
  const { graceSeconds } = await call.optionalBody(checkRotation);
  const grace = { graceSeconds: graceSeconds ?? 0 };
  return call.registry.keys.rotate(appId, call.parameter("key"), grace, call.author);
}

function readContent({ permissions, expiresAt, description }: KeyContent): ApiKeyContent {
  return {
    permissions: readPermissions(permissions, "permissions", { isSaved: true }),
    ...(typeof expiresAt === "string" && { expiresAt: readTime(expiresAt, "expiresAt") }),
    ...(typeof description === "string" && { description }),
  };
}
