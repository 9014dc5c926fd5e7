/**
 * Resumable upload endpoint, `POST` and `PATCH /attachments/{id}/upload`: stores the content of an
 * attachment that may arrive over several requests (H54 to H56).
 *
 * POST begins or continues an upload: it says from where the client must send. PATCH appends the
 * body as it arrives. Both end an earlier request of the same upload, so the offset that they report
 * is final. They end it before they take a share of the uploads, which the earlier one holds.
 */

import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import type { StatementRunner } from "@bigpeer/engine/query";
import { attachmentOf, type Store } from "@bigpeer/engine/store";
import type { Value } from "@bigpeer/protocol";
import { type Attachment, isAttachmentId } from "../attachments/attachment-files.ts";
import { type AttachmentFolder, tooLarge } from "../attachments/attachment-folder.ts";
import { contentFailure } from "../attachments/content-failure.ts";
import type { UploadOutcome } from "../attachments/partial-uploads.ts";
import { type Credential, ownerOf } from "../auth/credential.ts";
import { type Answer, createAnswer } from "../http/answer.ts";
import type { HttpRequest } from "../http/http-request.ts";
import { Refusal } from "../http/refusal.ts";
import { type Endpoint, messageBody, type Place } from "../http/router.ts";
import { type ContentTraffic, NO_TRAFFIC } from "../observability/content-metrics.ts";
import { type ArrivalBounds, arrivingBody } from "./arriving-body.ts";
import { checkPlain, mayNotUpload, mediaType } from "./attachment-upload.ts";
import type { Caller, DataApp, DataGate } from "./data-gate.ts";
import { type BeginUploadRequest, checkBeginUpload } from "./schemas.ts";
import { UploadShares } from "./upload-shares.ts";

/** An app as the endpoint uses it. */
export interface ResumableApp extends DataApp {
  readonly store: Store;
  readonly attachments: Pick<AttachmentFolder, "adopt" | "isProof" | "partial">;
  readonly statements: Pick<StatementRunner, "mayReadAttachment">;
}

export interface ResumableHost extends ArrivalBounds {
  readonly gate: Pick<DataGate<ResumableApp>, "admit" | "authenticate" | "failureOf">;
  /** Maximum bytes of one content. */
  readonly sizeMax: number;
  /** Left out, the endpoint has shares of its own. */
  readonly shares?: UploadShares;
  readonly traffic?: ContentTraffic;
}

export function resumableUploadEndpoint(host: ResumableHost): Endpoint {
  const uploads = new ResumableUploads(host);
  return {
    name: "resumable_upload",
    path: "/attachments/{id}/upload",
    methods: ["POST", "PATCH"],
    failureBody: (message, refusal): Value =>
      refusal instanceof WrongOffset ? { message, offset: refusal.offset } : messageBody(message),
    answer: (request, place) =>
      request.method === "POST" ? uploads.begin(request, place) : uploads.append(request, place),
  };
}

/** Refusal, 409: the upload continues at another offset. */
class WrongOffset extends Refusal {
  readonly offset: number;

  constructor(offset: number) {
    super(409, `expected an upload from the offset ${offset}`);
    this.offset = offset;
  }
}

class ResumableUploads {
  readonly #host: ResumableHost;
  readonly #shares: UploadShares;
  readonly #traffic: ContentTraffic;

  constructor(host: ResumableHost) {
    this.#host = host;
    this.#shares = host.shares ?? new UploadShares(host.onRefused);
    this.#traffic = host.traffic ?? NO_TRAFFIC;
  }

  begin(request: HttpRequest, place: Place): Promise<Answer> {
    const { gate, sizeMax } = this.#host;
    return gate.admit(request, place, async ({ app, credential, body }) => {
      if (!credential.mayUpload) throw mayNotUpload();
      const asked = checkBeginUpload(body);
      const content = checkContent(place, asked.len, sizeMax);
      const by = credential.id;
      await app.attachments.partial.end(content.id, by);
      return this.#shares.run(app.id, ownerOf(app.id, credential), async () => {
        const isStored = await adopt({ app, credential }, content, asked);
        if (isStored) {
          await app.attachments.partial.remove(content.id, by);
          return progress(content, content.len);
        }
        return answerTo(content, await app.attachments.partial.begin(content, by));
      });
    });
  }

  async append(request: HttpRequest, place: Place): Promise<Answer> {
    const { gate, sizeMax } = this.#host;
    const { use, app, credential } = await gate.authenticate(request, place);
    try {
      if (!credential.mayUpload) throw mayNotUpload();
      checkType(request.headers);
      const offset = numberIn(request.headers, "Upload-Offset");
      const content = checkContent(place, numberIn(request.headers, "Upload-Length"), sizeMax);
      checkEnd(request.headers, offset, content.len);
      await app.attachments.partial.end(content.id, credential.id);
      return await this.#shares.run(app.id, ownerOf(app.id, credential), async () => {
        const outcome = await this.#receive(request, { app, credential }, content, offset);
        return answerTo(content, outcome);
      });
    } catch (error) {
      throw gate.failureOf(error, app.id);
    } finally {
      use.release();
    }
  }

  async #receive(
    request: HttpRequest,
    { app, credential }: Caller<ResumableApp>,
    content: Attachment,
    offset: number,
  ): Promise<UploadOutcome> {
    const traffic = this.#traffic;
    let body: Readable | undefined;
    const open = (): Readable => {
      body = request.openBody();
      return body;
    };
    try {
      const arriving = { offset, chunks: this.#arriving(open, content.len - offset) };
      const outcome = await app.attachments.partial.append(content, arriving, credential.id);
      if (outcome.kind === "refused") traffic.failed("in", "resumable", "digest");
      if (outcome.kind === "replaced") traffic.failed("in", "resumable", "replaced");
      return outcome;
    } catch (error) {
      traffic.failed("in", "resumable", contentFailure(error));
      throw error;
    } finally {
      // One that was ended still waits for its next chunk.
      body?.destroy();
    }
  }

  /** The body is opened when the first chunk is asked for: a refused one is not read. */
  async *#arriving(open: () => Readable, sizeMax: number): AsyncGenerator<Uint8Array> {
    const size = { sizeMax, tooLarge: () => tooLong(sizeMax) };
    for await (const chunk of arrivingBody(open(), size, this.#host)) {
      this.#traffic.moved("in", "resumable", chunk.length);
      yield chunk;
    }
  }
}

/**
 * Records the caller as an uploader if the content is stored and the caller may read it or proves to
 * have it. Otherwise the answer must be the same as without the content (H55).
 */
async function adopt(
  { app, credential }: Caller<ResumableApp>,
  content: Attachment,
  { proof }: BeginUploadRequest,
): Promise<boolean> {
  const { store, statements, attachments } = app;
  const { id, len } = content;
  const record = store.read((view) => attachmentOf(view, id));
  if (record?.len !== len) return false;
  const isAllowed =
    (await mayRead(statements, id, credential)) ||
    (typeof proof === "string" && (await attachments.isProof(proof, content)));
  return isAllowed && (await attachments.adopt(content, credential.id));
}

async function mayRead(
  statements: ResumableApp["statements"],
  id: string,
  { authority }: Credential,
): Promise<boolean> {
  return authority === undefined || (await statements.mayReadAttachment(id, authority));
}

function answerTo(content: Attachment, { kind, offset }: UploadOutcome): Answer {
  if (kind === "conflict" || kind === "replaced") throw new WrongOffset(offset);
  if (kind === "refused") {
    const what = `the content of the attachment ${content.id}, found another`;
    throw new Refusal(422, `expected ${what} (attachment.invalid)`);
  }
  return progress(content, offset);
}

function progress({ id, len }: Attachment, offset: number): Answer {
  return createAnswer(200, { id, len, offset });
}

function checkContent({ parameters }: Place, len: number, sizeMax: number): Attachment {
  const id = parameters["id"] ?? "";
  if (!isAttachmentId(id)) {
    const expected = "the SHA-256 of the content in base64url, 43 characters";
    throw new Refusal(400, `expected ${expected}, as the id in the path`);
  }
  if (len > sizeMax) throw tooLarge(sizeMax);
  return { id, len };
}

function checkType(headers: IncomingHttpHeaders): void {
  checkPlain(headers);
  const given = headers["content-type"] ?? "";
  if (mediaType(given) === "application/octet-stream") return;
  const found = given === "" ? "none" : given;
  throw new Refusal(415, `expected the content type application/octet-stream, found ${found}`);
}

function numberIn(headers: IncomingHttpHeaders, name: string): number {
  const given = headers[name.toLowerCase()];
  if (typeof given === "string" && /^\d{1,15}$/.test(given)) return Number(given);
  const found = given === undefined ? "none" : String(given).slice(0, 40);
  throw new Refusal(400, `expected a number of bytes in the header ${name}, found ${found}`);
}

function checkEnd(headers: IncomingHttpHeaders, offset: number, len: number): void {
  if (offset > len) {
    throw new Refusal(400, `expected an offset of at most ${len}, the length, found ${offset}`);
  }
  if (Number(headers["content-length"] ?? 0) > len - offset) throw tooLong(len - offset);
}

function tooLong(sizeMax: number): Refusal {
  return new Refusal(400, `expected a body of at most ${sizeMax} bytes, the rest of the content`);
}
