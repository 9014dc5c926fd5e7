/**
 * Download endpoint, `GET` and `HEAD /attachments/{id}`: sends the content of an attachment, or a
 * range of it, from disk (H37).
 *
 * Content never changes under its id, so the id is the entity tag and clients may cache it for
 * ever. Any caller may have uploaded it, so the headers make browsers save it and not display it.
 */

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { StatementRunner } from "@bigpeer/engine/query";
import type { Store, View } from "@bigpeer/engine/store";
import { PeerError } from "@bigpeer/protocol";
import { isAttachmentId } from "../attachments/attachment-files.ts";
import type { Attachment, AttachmentFolder } from "../attachments/attachment-folder.ts";
import type { Credential } from "../auth/credential.ts";
import { type Answer, type Content, contentAnswer, type Headers } from "../http/answer.ts";
import { byteRange } from "../http/byte-range.ts";
import { isNamedBy } from "../http/entity-tag.ts";
import type { HttpRequest } from "../http/http-request.ts";
import { Refusal, unavailable } from "../http/refusal.ts";
import { type Endpoint, messageBody } from "../http/router.ts";
import type { DataApp, DataGate } from "./data-gate.ts";

/** An app as the download endpoint uses it. */
export interface DownloadApp extends DataApp {
  readonly store: Store;
  readonly attachments: Pick<AttachmentFolder, "path" | "ensure">;
  readonly statements: Pick<StatementRunner, "mayReadAttachment">;
}

export interface DownloadHost<App extends DownloadApp> {
  readonly gate: Pick<DataGate<App>, "authenticate">;
  /** Fetches a content that documents refer to from linked Big Peers; absent without links. */
  readonly find?: (app: App, id: string) => Promise<"kept" | "missing" | "later">;
}

const NOTHING: Content = { kind: "bytes", bytes: new Uint8Array() };

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
        const attachment = await findAttachment(app, credential, id, host.find);
        if (!(await app.attachments.ensure(attachment))) throw notHere();
        const path = app.attachments.path(attachment.id);
        await checkFile(path, attachment);
        return answerWith(attachment, path, request);
      } finally {
        use.release();
      }
    },
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
  const recordOf = () => store.read((view) => view.attachment(id));
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
  for (const _ of view.attachmentReferences(id, 1)) return true;
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
  { method, headers: asked }: Pick<HttpRequest, "method" | "headers">,
): Answer {
  const etag = `"${id}"`;
  const kept: Headers = {
    etag,
    "cache-control": "private, max-age=31536000, immutable",
    // A browser must not show one user what another has downloaded.
    vary: "authorization",
  };
  if (isNamedBy(asked["if-none-match"], etag)) return contentAnswer(304, NOTHING, kept);
  const headers: Headers = {
    ...kept,
    "content-type": "application/octet-stream",
    "content-disposition": "attachment",
    "x-content-type-options": "nosniff",
    "accept-ranges": "bytes",
  };
  const ifRange = asked["if-range"];
  // Ranges apply to GET only.
  const isPartWanted = method === "GET" && (ifRange === undefined || ifRange === etag);
  const range = byteRange(isPartWanted ? asked.range : undefined, len);
  if (range.kind === "unsatisfiable") {
    const message = `expected a range within the ${len} bytes of the attachment`;
    throw new Refusal(416, message, { "content-range": `bytes */${len}` });
  }
  if (range.kind === "whole") return contentAnswer(200, fileContent(path, 0, len), headers);
  const { start, end } = range;
  const part = { ...headers, "content-range": `bytes ${start}-${end}/${len}` };
  return contentAnswer(206, fileContent(path, start, end - start + 1), part);
}

function fileContent(path: string, start: number, size: number): Content {
  if (size === 0) return NOTHING;
  return {
    kind: "stream",
    size,
    open: () => createReadStream(path, { start, end: start + size - 1 }),
  };
}
