/**
 * What the audit log says of a change of an app's auth providers: one deed for each provider that
 * changed, with the names of the fields that did. Of secrets it is told that they changed, and no
 * more.
 */

import { getField, isObject, type Value } from "@bigpeer/protocol";
import { changedFields, type Deed } from "./audit-log.ts";
import { type AuthProviders, storedProviders } from "./auth-provider.ts";

/** The field of the secrets that sign requests to a webhook. */
const WEBHOOK_SECRETS = "secrets";

/** `target` is how the audit log calls the app. None where all is as it was. */
export function providerDeeds(target: string, before: AuthProviders, after: AuthProviders): Deed[] {
  const [old, now] = [storedProviders(before), storedProviders(after)];
  const names = new Set([...Object.keys(old), ...Object.keys(now)]);
  return [...names].flatMap((name) => {
    const deed = deedOf(getField(old, name), getField(now, name));
    return deed === undefined ? [] : [{ ...deed, target: `${target}/provider/${name}` }];
  });
}

function deedOf(
  before: Value | undefined,
  after: Value | undefined,
): Pick<Deed, "action" | "detail"> | undefined {
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
  // Nobody outside knows the id of a provider.
  const fields = changed.filter((name) => name !== "id");
  const isRotation = fields.length === 1 && fields[0] === WEBHOOK_SECRETS;
  if (isRotation) return { action: "provider.rotateSecret" };
  return { action: "provider.replace", detail: fields.join(", ") };
}
