/**
 * Attachment endpoints: those that upload and download the contents of attachments.
 */

import type { Endpoint } from "../http/router.ts";
import { type DownloadApp, type DownloadHost, downloadEndpoint } from "./attachment-download.ts";
import { type UploadHost, uploadEndpoint } from "./attachment-upload.ts";
import { type ResumableHost, resumableUploadEndpoint } from "./resumable-upload.ts";
import { UploadShares } from "./upload-shares.ts";

/** The bound on uploads at the same time is that of both endpoints together. */
export type AttachmentHost<App extends DownloadApp> = DownloadHost<App> &
  Omit<UploadHost & ResumableHost, "shares">;

export function attachmentEndpoints<App extends DownloadApp>(
  host: AttachmentHost<App>,
): Endpoint[] {
  const uploads = { ...host, shares: new UploadShares(host.onRefused) };
  return [uploadEndpoint(uploads), resumableUploadEndpoint(uploads), downloadEndpoint(host)];
}
