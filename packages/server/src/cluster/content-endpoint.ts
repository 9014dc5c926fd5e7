/**
 * Content endpoint, `GET` and `PUT /content/{app}/{id}`: sends the content of an attachment to
 * another node, and stores one that another node sends. The procedure `has_content` says whether a
 * content is here.
 */

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { isObject, type Value } from "@bigpeer/protocol";
import type { OpenApps } from "../apps/open-apps.ts";
import { type Attachment, isAttachmentId } from "../attachments/attachment-files.ts";
import type { AttachmentFolder } from "../attachments/attachment-folder.ts";
import { type Answer, contentAnswer, createAnswer } from "../http/answer.ts";
import type { HttpRequest } from "../http/http-request.ts";
import { Refusal } from "../http/refusal.ts";
import { type Endpoint, messageBody } from "../http/router.ts";

/** Throws while the node is not open. */
export type AppsSource = () => Pick<OpenApps, "tryUse" | "use">;

export function contentEndpoint(source: AppsSource): Endpoint {
  return {
    name: "node_content",
    path: "/content/{app}/{id}",
    methods: ["GET", "PUT"],
    failureBody: messageBody,
    answer: (request, { parameters }) => {
      const { app = "", id = "" } = parameters;
      if (!isAttachmentId(id)) throw absent();
      return withAttachments(source, app, (attachments) =>
        request.method === "PUT" ? take(request, id, attachments) : send(id, attachments),
      );
    },
  };
}

/** Answers the procedure `has_content`. */
export async function answerHasContent(source: AppsSource, value: Value): Promise<Value> {
  const { app, id, len } = isObject(value) ? value : {};
  if (typeof app !== "string" || typeof id !== "string" || typeof len !== "number") return false;
  if (!isAttachmentId(id)) return false;
  return withAttachments(source, app, (attachments) => attachments.holds({ id, len }));
}

async function withAttachments<T>(
  source: AppsSource,
  app: string,
  work: (attachments: AttachmentFolder) => Promise<T>,
): Promise<T> {
  const apps = source();
  const use = apps.tryUse(app) ?? (await apps.use(app));
  try {
    return await work(use.app.attachments);
  } finally {
    use.release();
  }
}

async function take(
  request: HttpRequest,
  id: string,
  attachments: AttachmentFolder,
): Promise<Answer> {
  const content: Attachment = { id, len: Number(request.headers["content-length"]) };
  await attachments.takeCopy(content, request.openBody());
  return createAnswer(200, null);
}

async function send(id: string, attachments: AttachmentFolder): Promise<Answer> {
  const path = attachments.path(id);
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) throw absent();
  const { size } = found;
  const headers = { "content-type": "application/octet-stream" };
  const bytes = new Uint8Array();
  if (size === 0) return contentAnswer(200, { kind: "bytes", bytes }, headers);
  const open = () => createReadStream(path, { start: 0, end: size - 1 });
  return contentAnswer(200, { kind: "stream", size, open }, headers);
}

function absent(): Refusal {
  return new Refusal(404, "the content is not on this node");
}
