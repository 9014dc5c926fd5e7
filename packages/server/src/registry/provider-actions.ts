/**
 * Provider audit: derives the audit actions of a change of an app's auth providers: one for each
 * changed provider, with the names of the changed fields. Of a secret, the log shows only that it
 * changed.
 */

import { getField, isObject, type Value } from "@bigpeer/protocol";
import { type AuditAction, changedFields } from "./audit-log.ts";
import { type AuthProviders, storedProviders } from "./auth-provider.ts";

/** Field with the secrets that sign requests to a webhook. */
const WEBHOOK_SECRETS = "secrets";

/** `target` is the name of the app in the audit log. Empty when nothing changed. */
export function providerActions(
  target: string,
  before: AuthProviders,
  after: AuthProviders,
): AuditAction[] {
  const [old, now] = [storedProviders(before), storedProviders(after)];
  const names = new Set([...Object.keys(old), ...Object.keys(now)]);
  return [...names].flatMap((name) => {
    const audited = actionOf(getField(old, name), getField(now, name));
    return audited === undefined ? [] : [{ ...audited, target: `${target}/provider/${name}` }];
  });
}

function actionOf(
  before: Value | undefined,
  after: Value | undefined,
): Pick<AuditAction, "action" | "detail"> | undefined {
  if (!isObject(after)) return { action: "provider.delete" };
  if (!isObject(before)) {
    const type = getField(after, "type");
    return {
      action: "provider.create",
      ...(typeof type === "string" && { detail: `type ${type}` }),
    };
  }
  const changed = changedFields(before, after);
  if (changed.length === 0) return undefined;
  // The id of a provider is internal.
  const fields = changed.filter((name) => name !== "id");
  const isRotation = fields.length === 1 && fields[0] === WEBHOOK_SECRETS;
  if (isRotation) return { action: "provider.rotateSecret" };
  return { action: "provider.replace", detail: fields.join(", ") };
}
