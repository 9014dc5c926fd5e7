/**
 * Weak secrets: warns about short shared tokens from before there was a minimum length. They keep
 * working.
 */

import type { Log } from "../observability/log.ts";
import { weakProviders } from "../registry/auth-provider.ts";
import { SHARED_TOKEN_LENGTH_MIN } from "../registry/provider-fields.ts";
import type { Registry } from "../registry/registry.ts";

export function warnOfSecrets({ apps }: Registry, log: Log): void {
  for (const { id, name } of apps.names()) {
    for (const provider of weakProviders(apps.get(id)?.authProviders ?? {})) {
      const what = `the shared token of the provider ${provider} of the app ${name}`;
      const remedy = "anybody may guess it; give the provider a longer one";
      log("warn", `${what} has fewer than ${SHARED_TOKEN_LENGTH_MIN} characters: ${remedy}`);
    }
  }
}
