/**
 * Webhooks: HTTP endpoints of the operator to which the server sends changes of an app.
 */

import { isIP } from "node:net";
import { isArray, type Value, type ValueObject } from "@bigpeer/protocol";
import { isLoopbackHost } from "../address/loopback.ts";
import { isPrivateAddress } from "../address/private-address.ts";
import {
  changedSelection,
  type Destination,
  type DestinationChange,
  missing,
} from "./destination.ts";
import type { DestinationKind } from "./destinations.ts";
import { RegistryFault, shown } from "./registry-fault.ts";
import { WEBHOOKS_BY_NAME } from "./registry-index.ts";
import { checkSigningSecret, drawSigningSecret } from "./webhook-secret.ts";

export interface Webhook extends Destination {
  readonly url: string;
  /** The newest first. All of them sign, so that a receiver can change to the newest. */
  readonly secrets: readonly string[];
  /** Whether the URL may lead to an address that is not on the public internet. */
  readonly isPrivateAllowed: boolean;
}

export interface WebhookChange extends DestinationChange {
  readonly url?: string | null;
  /** Signs from now on; the one before signs as well, until the next change. */
  readonly secret?: string | null;
  readonly allowPrivate?: boolean | null;
}

const URL_LENGTH_MAX = 2_048;
const SECRETS_MAX = 2;

export const WEBHOOK_KIND: DestinationKind<Webhook, WebhookChange> = {
  noun: "webhook",
  index: WEBHOOKS_BY_NAME,
  notFound: "WebhookNotFound",
  notUnique: "WebhookNameNotUnique",
  changed: changedWebhook,
  stored: storedWebhook,
};

function changedWebhook(
  before: Webhook | undefined,
  change: WebhookChange,
  random: (size: number) => Uint8Array,
): Omit<Webhook, keyof Destination> & ReturnType<typeof changedSelection> {
  const url = change.url ?? before?.url;
  if (url === undefined) throw missing("a URL", "url");
  const { allowPrivate } = change;
  const isPrivateAllowed =
    allowPrivate === undefined ? before?.isPrivateAllowed === true : allowPrivate === true;
  return {
    ...changedSelection(before, change),
    url: checkedUrl(url, isPrivateAllowed),
    secrets: changedSecrets(before?.secrets ?? [], change.secret, random),
    isPrivateAllowed,
  };
}

/** A new webhook without a secret gets one. */
function changedSecrets(
  before: readonly string[],
  given: string | null | undefined,
  random: (size: number) => Uint8Array,
): readonly string[] {
  const [newest] = before;
  if (given === undefined || given === null) {
    return newest === undefined ? [drawSigningSecret(random)] : before;
  }
  checkSigningSecret(given);
  return given === newest ? before : [given, ...before].slice(0, SECRETS_MAX);
}

function checkedUrl(text: string, isPrivateAllowed: boolean): string {
  const url = text.length <= URL_LENGTH_MAX && URL.canParse(text) ? new URL(text) : undefined;
  const isWeb = url?.protocol === "https:" || url?.protocol === "http:";
  if (
    url === undefined ||
    !isWeb ||
    url.username !== "" ||
    url.password !== "" ||
    url.hash !== ""
  ) {
    const form = "a URL with https: or http:, without user, password and fragment";
    throw new RegistryFault("InvalidRequest", `expected ${form}, found ${shown(text)} at url`);
  }
  if (!isPrivateAllowed && isPrivateHost(url.hostname)) {
    const rule = "expected a public address; set allowPrivate to send to this machine or network";
    throw new RegistryFault("InvalidRequest", `${rule}, found ${shown(url.hostname)} at url`);
  }
  return url.href;
}

/** What can be said without a resolver; the sender examines the addresses of a name. */
function isPrivateHost(hostname: string): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  if (isIP(host) !== 0) return isPrivateAddress(host);
  return isLoopbackHost(host) || host.endsWith(".localhost");
}

function storedWebhook(base: Destination, fields: ValueObject): Webhook | undefined {
  const { url, secrets, isPrivateAllowed } = fields;
  if (typeof url !== "string" || !isTexts(secrets) || typeof isPrivateAllowed !== "boolean") {
    return undefined;
  }
  return { ...base, url, secrets, isPrivateAllowed };
}

export function isTexts(value: Value | undefined): value is readonly string[] {
  return isArray(value) && value.every((text) => typeof text === "string");
}
