/**
 * `POST /attachments/upload`: the content of an attachment, as the one file of a form.
 */

import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { unauthorized } from "../auth/unauthorized.ts";
import type { DataApp, DataGate } from "../data-api/data-gate.ts";
import { createAnswer } from "../http/answer.ts";
import type { HttpRequest } from "../http/http-request.ts";
import { Refusal, unavailable } from "../http/refusal.ts";
import { type Endpoint, messageBody } from "../http/router.ts";
import { FORM_SIZE_MAX, UPLOAD_IDLE_MS_MAX, UPLOADS_MAX } from "../limits.ts";
import { type AttachmentFolder, tooLarge } from "./attachment-folder.ts";
import { formFile } from "./form-file.ts";

/** An app as the endpoints of attachments see it. */
export interface UploadApp extends DataApp {
  readonly attachments: Pick<AttachmentFolder, "add">;
}

export interface UploadHost {
  readonly gate: Pick<DataGate<UploadApp>, "authenticate" | "failureOf">;
  /** Bytes of one content. */
  readonly sizeMax: number;
  /** How long a body may pause. */
  readonly idleMsMax?: number;
}

export function uploadEndpoint(host: UploadHost): Endpoint {
  const { gate, sizeMax, idleMsMax = UPLOAD_IDLE_MS_MAX } = host;
  let underWay = 0;
  return {
    name: "upload_attachment",
    path: "/attachments/upload",
    methods: ["POST"],
    failureBody: messageBody,
    answer: async (request, place) => {
      const { use, app, credential } = await gate.authenticate(request, place);
      underWay++;
      try {
        if (!credential.mayUpload) throw unauthorized("the credential may not write anything");
        const type = formType(request.headers);
        checkAnnounced(request, sizeMax);
        if (underWay > UPLOADS_MAX) {
          throw unavailable("the server has too many uploads under way", 1);
        }
        const body = arriving(request.openBody(), sizeMax, idleMsMax);
        const { id, len } = await app.attachments.add(formFile(body, type), credential.id);
        return createAnswer(200, { id, len });
      } catch (error) {
        throw gate.failureOf(error, app.id);
      } finally {
        underWay--;
        use.release();
      }
    },
  };
}

/** The content type, with the boundary in it. */
function formType(headers: IncomingHttpHeaders): string {
  const coding = headers["content-encoding"] ?? "identity";
  if (coding.toLowerCase() !== "identity") {
    throw new Refusal(415, `expected a body without content encoding, found ${coding}`);
  }
  const given = headers["content-type"] ?? "";
  if (given.split(";", 1)[0]?.trim().toLowerCase() === "multipart/form-data") return given;
  const found = given === "" ? "none" : given;
  throw new Refusal(415, `expected the content type multipart/form-data, found ${found}`);
}

/** What says that it will be too large need not be sent. */
function checkAnnounced({ headers }: HttpRequest, sizeMax: number): void {
  const announced = Number(headers["content-length"] ?? 0);
  if (announced > sizeMax + FORM_SIZE_MAX) throw tooLarge(sizeMax);
}

/**
 * The body, while it comes. Only the client's pauses count: a disk that is slow is not its fault.
 */
async function* arriving(
  body: Readable,
  sizeMax: number,
  idleMsMax: number,
): AsyncGenerator<Uint8Array> {
  const tooSlow = new Refusal(408, `expected the upload to go on within ${idleMsMax} ms`);
  const wait = (): NodeJS.Timeout => setTimeout(() => body.destroy(tooSlow), idleMsMax);
  let size = 0;
  let timer = wait();
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      clearTimeout(timer);
      size += chunk.length;
      // What stands around the file is not kept, but it is not to be without end either.
      if (size > sizeMax + FORM_SIZE_MAX) throw tooLarge(sizeMax);
      yield chunk;
      timer = wait();
    }
  } finally {
    clearTimeout(timer);
  }
}
