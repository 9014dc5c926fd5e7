/**
 * Provider test: `…/provider/{provider}/test` says who a token is and what its user may do, or why it
 * is refused (M62). A login would not say why.
 */

import { createHash, timingSafeEqual } from "node:crypto";
import { permissionsValue } from "@bigpeer/engine/query";
import { unreachable, type Value } from "@bigpeer/protocol";
import { Refusal } from "../http/refusal.ts";
import type { App } from "../registry/app.ts";
import type { AuthProvider } from "../registry/auth-provider.ts";
import { showTime } from "../validation/time-text.ts";
import type { ManagementCall, Resource } from "./management-endpoint.ts";
import { providerOf } from "./providers-resource.ts";
import { checkProviderTest } from "./schemas.ts";

export const PROVIDER_TEST_RESOURCES: readonly Resource[] = [
  {
    name: "test_provider",
    path: "/app/{app}/provider/{provider}/test",
    access: "signedIn",
    methods: { POST: testProvider },
  },
];

async function testProvider(call: ManagementCall): Promise<Value> {
  const { token } = await call.body(checkProviderTest);
  const app = call.registry.apps.named(call.parameter("app"));
  const name = call.parameter("provider");
  const provider = providerOf(app.authProviders, name);
  try {
    return await verdictOf(call, app, { name, provider, token });
  } catch (error) {
    // What a login of this token would fail with.
    if (!(error instanceof Refusal)) throw error;
    return refused(error.message);
  }
}

interface Tested {
  readonly name: string;
  readonly provider: AuthProvider;
  readonly token: string;
}

async function verdictOf(
  { facts, author }: ManagementCall,
  { id: appId }: App,
  { name, provider, token }: Tested,
): Promise<Value> {
  switch (provider.type) {
    case "anonymous": {
      if (!isEqual(token, provider.sharedToken)) return refused("it is not the shared token");
      const { permission, sessionLength } = provider;
      return {
        isValid: true,
        userId: null,
        permissions: permissionsValue(permission),
        identity: null,
        expiresAt: showTime(Date.now() + sessionLength * 1_000),
      };
    }
    case "jwt": {
      const reasons: string[] = [];
      const note = (reason: string): number => reasons.push(reason);
      const user = await facts.auth.tokens.verify(token, provider, appId, note);
      return user === undefined ? refused(reasons.join("; ")) : accepted(user);
    }
    case "tokenWebhook": {
      const asker = { address: author.address ?? "", isSuspect: false };
      const verdict = await facts.auth.webhooks.ask({ appId, name, provider, token }, asker);
      return verdict.isAuthenticated ? accepted(verdict) : refused("the webhook refuses it");
    }
    default:
      return unreachable(provider);
  }
}

type User = NonNullable<Awaited<ReturnType<ManagementCall["facts"]["auth"]["tokens"]["verify"]>>>;

function accepted({ userId, permissions, identity, expiresAt }: User): Value {
  return {
    isValid: true,
    userId,
    permissions: permissionsValue(permissions),
    identity: identity ?? null,
    expiresAt: showTime(expiresAt * 1_000),
  };
}

function refused(reason: string): Value {
  return { isValid: false, reason: reason === "" ? "it is not valid" : reason };
}

function isEqual(a: string, b: string): boolean {
  return timingSafeEqual(digestOf(a), digestOf(b));
}

function digestOf(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}
