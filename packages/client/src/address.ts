/**
 * Address: parts of URLs as text.
 */

import { BigPeerError } from "./error.ts";

/** A base without slashes at its end. Throws `config.invalid`. */
export function baseOf(option: string, url: string): string {
  // Without the scheme, the host would be read as one.
  if (/^https?:\/\/\S+$/.test(url)) return url.replace(/\/+$/, "");
  const message = `expected an address with http or https in the option ${option}, found "${url}"`;
  throw new BigPeerError("config.invalid", message);
}

/** `?a=1`, without what is undefined. */
export function queryText(query: object): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text === "" ? "" : `?${text}`;
}

/** `/a/b`, with each part encoded. */
export function pathText(...parts: readonly string[]): string {
  return parts.map((part) => `/${encodeURIComponent(part)}`).join("");
}
