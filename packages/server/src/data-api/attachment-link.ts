/**
 * Attachment links: creates download URLs of attachments, as the client reaches the server (H39).
 * Behind a proxy that changes the address, the setting `public-url` gives the base.
 */

import type { Call } from "./operation.ts";

export function attachmentLinks(
  { request, place }: Pick<Call, "request" | "place">,
  publicUrl: string | undefined,
): (attachmentId: string) => string {
  return (attachmentId) => {
    const { headers, isEncrypted } = request;
    const base = publicUrl ?? `${isEncrypted ? "https" : "http"}://${headers.host ?? "localhost"}`;
    const app = place.appId === undefined ? "" : `/${place.appId}`;
    return `${base}${app}/api/${place.version}/attachments/${encodeURIComponent(attachmentId)}`;
  };
}
