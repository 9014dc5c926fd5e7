/**
 * Provider resources: `…/provider` and the paths below it list, create, replace and delete single
 * auth providers of an app. `authProviders` of the app has all of them. Secrets are accepted and
 * never shown (M21).
 */

import { PeerError, type Value } from "@bigpeer/protocol";
import {
  type AuthProvider,
  type AuthProviders,
  drawWebhookSecret,
  providerNamed,
  readProvider,
  shownProviders,
  withNewSecret,
} from "../registry/auth-provider.ts";
import { RegistryFault, shown } from "../registry/registry-fault.ts";
import { showApp } from "./apps-resource.ts";
import type { ManagementCall, Resource } from "./management-endpoint.ts";
import { pageBody } from "./page.ts";
import { checkNewProvider, checkProviderChange } from "./schemas.ts";

/** Fields of a body that hold the name and the configuration of a provider. */
const PLACES = { name: "name", config: "config" };

export const PROVIDER_RESOURCES: readonly Resource[] = [
  {
    name: "manage_providers",
    path: "/app/{app}/provider",
    methods: { GET: listProviders, POST: putProvider },
  },
  {
    name: "manage_provider",
    path: "/app/{app}/provider/{provider}",
    methods: {
      GET: (call) => {
        const { authProviders } = call.registry.apps.named(call.parameter("app"));
        return showProvider(authProviders, call.parameter("provider"));
      },
      PUT: replaceProvider,
      DELETE: deleteProvider,
      // Some clients delete with POST (M23).
      POST: deleteProvider,
    },
  },
  {
    name: "manage_webhook_secret",
    path: "/app/{app}/provider/{provider}/webhookSecret",
    methods: { POST: makeSecret },
  },
];

function showProvider(providers: AuthProviders, name: string): Value {
  const provider = providerOf(providers, name);
  return { name, config: shownProviders({ [name]: provider })[name] ?? null };
}

function listProviders(call: ManagementCall): Value {
  const { authProviders } = call.registry.apps.named(call.parameter("app"));
  const names = Object.keys(authProviders).toSorted();
  return pageBody(names, call.query, (name) => showProvider(authProviders, name));
}

/** Creates the provider, or replaces the one with that name (M20). */
async function putProvider(call: ManagementCall): Promise<Value> {
  const { name, config } = await call.body(checkNewProvider);
  const app = await call.registry.apps.setProviders(
    call.parameter("app"),
    (before) => {
      const old = providerNamed(before, name);
      const reading = { before: old, random: call.random, places: PLACES };
      return withProvider(before, name, readProvider(name, config, reading));
    },
    call.author,
  );
  return showApp(app);
}

async function replaceProvider(call: ManagementCall): Promise<Value> {
  const { name: given, config } = await call.body(checkProviderChange);
  call.checkSame(given, call.parameter("provider"), "name");
  return changeProvider(call, (before, name) =>
    readProvider(name, config, { before, random: call.random, places: PLACES }),
  );
}

async function deleteProvider(call: ManagementCall): Promise<Value> {
  const name = call.parameter("provider");
  await call.registry.apps.setProviders(
    call.parameter("app"),
    (before) => {
      providerOf(before, name);
      return Object.fromEntries(Object.entries(before).filter(([other]) => other !== name));
    },
    call.author,
  );
  return null;
}

/** Adds a secret. The previous one also signs until the next call (M22). */
async function makeSecret(call: ManagementCall): Promise<Value> {
  const secret = drawWebhookSecret(call.random);
  await changeProvider(call, (before) => {
    if (before.type === "tokenWebhook") return withNewSecret(before, secret);
    const message = `expected a provider of the type tokenWebhook, found ${before.type}`;
    throw new PeerError("value.invalid", message);
  });
  return secret;
}

async function changeProvider(
  call: ManagementCall,
  change: (before: AuthProvider, name: string) => AuthProvider,
): Promise<Value> {
  const name = call.parameter("provider");
  const { authProviders } = await call.registry.apps.setProviders(
    call.parameter("app"),
    (before) => withProvider(before, name, change(providerOf(before, name), name)),
    call.author,
  );
  return showProvider(authProviders, name);
}

function withProvider(before: AuthProviders, name: string, provider: AuthProvider): AuthProviders {
  return Object.fromEntries([...Object.entries(before), [name, provider]]);
}

/** Throws AuthProviderNotFound. */
export function providerOf(providers: AuthProviders, name: string): AuthProvider {
  const provider = providerNamed(providers, name);
  if (provider !== undefined) return provider;
  const detail = `there is no auth provider named ${shown(name)}`;
  throw new RegistryFault("AuthProviderNotFound", detail);
}
