/**
 * Download endpoint, `GET` and `HEAD /attachments/{id}`: sends the content of an attachment, or a
 * range of it, from disk (H37).
 *
 * Content never changes under its id, so the id is the entity tag and clients may cache it for
 * ever. Any caller may have uploaded it, so the headers make browsers save it and not display it.
 *
 * The rights of the caller are checked again while the content is sent (H57).
 */

import { stat } from "node:fs/promises";
import type { View } from "@bigpeer/engine/store";
import { attachmentOf, attachmentReferences } from "@bigpeer/engine/store";
import { PeerError } from "@bigpeer/protocol";
import { type Attachment, isAttachmentId } from "../attachments/attachment-files.ts";
import type { AttachmentFolder } from "../attachments/attachment-folder.ts";
import type { Credential } from "../auth/credential.ts";
import type { Answer, Headers } from "../http/answer.ts";
import { fileAnswer } from "../http/file-answer.ts";
import type { FileGuard } from "../http/guarded-file.ts";
import type { HttpRequest } from "../http/http-request.ts";
import { Refusal, unavailable } from "../http/refusal.ts";
import { type Endpoint, messageBody } from "../http/router.ts";
import { type ContentTraffic, NO_TRAFFIC } from "../observability/content-metrics.ts";
import type { DataGate } from "./data-gate.ts";
import { type Download, DownloadRights, lastTransaction, type ReadApp } from "./download-rights.ts";

/** An app as the download endpoint uses it. */
export interface DownloadApp extends ReadApp {
  readonly attachments: Pick<AttachmentFolder, "path" | "ensure">;
}

export interface DownloadHost<App extends DownloadApp> {
  readonly gate: Pick<DataGate<App>, "authenticate" | "authenticateAgain">;
  /** Fetches a content that documents refer to from linked Big Peers; absent without links. */
  readonly find?: (app: App, id: string) => Promise<"kept" | "missing" | "later">;
  /** Whether the server closes: downloads in progress then go on for a while (H14). */
  readonly isClosing?: () => boolean;
  readonly traffic?: ContentTraffic;
}

export function downloadEndpoint<App extends DownloadApp>(host: DownloadHost<App>): Endpoint {
  const { gate } = host;
  return {
    name: "download_attachment",
    path: "/attachments/{id}",
    methods: ["GET", "HEAD"],
    failureBody: messageBody,
    answer: async (request, place) => {
      const { use, app, credential } = await gate.authenticate(request, place);
      try {
        const id = place.parameters["id"] ?? "";
        const txnId = lastTransaction(app.store);
        const attachment = await findAttachment(app, credential, id, host.find);
        if (!(await app.attachments.ensure(attachment))) throw notHere();
        const path = app.attachments.path(attachment.id);
        await checkFile(path, attachment);
        const guard = guardOf(host, { request, place, id, credential, txnId });
        return answerWith(attachment, path, guard, request);
      } finally {
        use.release();
      }
    },
  };
}

function guardOf<App extends DownloadApp>(
  { gate, isClosing = () => false, traffic = NO_TRAFFIC }: DownloadHost<App>,
  download: Download,
): FileGuard {
  const rights = new DownloadRights(gate, download);
  return {
    mayGoOn: async () => isClosing() || (await rights.areHeld()),
    onSent: (bytes) => traffic.moved("out", "download", bytes),
    onEnded: (reason) => traffic.failed("out", "download", reason),
  };
}

/** An attachment that the caller may not read does not exist for the caller (P17). */
async function findAttachment<App extends DownloadApp>(
  app: App,
  { authority }: Credential,
  id: string,
  find: DownloadHost<App>["find"],
): Promise<Attachment> {
  const { store, statements } = app;
  const recordOf = () => store.read((view) => attachmentOf(view, id));
  const record = isAttachmentId(id) ? recordOf() : undefined;
  const mayRead = authority === undefined || (await statements.mayReadAttachment(id, authority));
  if (record !== undefined && mayRead) return { id, len: record.len };
  const isReferred = isAttachmentId(id) && store.read((view) => isReferredTo(view, id));
  if (!isReferred || !mayRead || find === undefined) {
    throw new Refusal(404, "there is no attachment with this id");
  }
  const outcome = await find(app, id);
  const found = recordOf();
  if (found !== undefined) return { id, len: found.len };
  throw notFound(outcome);
}

function isReferredTo(view: View, id: string): boolean {
  for (const _ of attachmentReferences(view, id, 1)) return true;
  return false;
}

function notFound(outcome: "kept" | "missing" | "later"): Refusal {
  const message = "the content of this attachment is not here";
  if (outcome === "missing") {
    return new Refusal(404, `${message}, and no Big Peer that the app is linked with has it`);
  }
  return unavailable(`${message} yet: a Big Peer that may have it has not answered`, 5);
}

function notHere(): Refusal {
  return unavailable("no node of the cluster that is alive has the content of this attachment", 5);
}

/** A record without its file is an error for the log of the server. */
async function checkFile(path: string, { id, len }: Attachment): Promise<void> {
  const found = await stat(path).catch((cause: unknown) => {
    const message = `expected the content of the attachment ${id} at ${path}`;
    throw new PeerError("store.corrupt", message, { cause });
  });
  if (found.size === len) return;
  const message = `expected ${len} bytes of the attachment ${id}, found ${found.size} at ${path}`;
  throw new PeerError("store.corrupt", message);
}

function answerWith(
  { id, len }: Attachment,
  path: string,
  guard: FileGuard,
  request: Pick<HttpRequest, "method" | "headers">,
): Answer {
  const kept = {
    etag: `"${id}"`,
    "cache-control": "private, max-age=31536000, immutable",
    // A browser must not show one user what another has downloaded.
    vary: "authorization",
  };
  const described: Headers = {
    "content-type": "application/octet-stream",
    "content-disposition": "attachment",
    "x-content-type-options": "nosniff",
  };
  const file = { path, size: len, what: "the attachment", kept, described, guard };
  return fileAnswer(file, request);
}
