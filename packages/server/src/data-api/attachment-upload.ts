/**
 * Upload endpoint, `POST /attachments/upload`: stores the content of an attachment, sent as the one
 * file of a form (H36).
 */

import type { IncomingHttpHeaders } from "node:http";
import { PeerError } from "@bigpeer/protocol";
import { type AttachmentFolder, tooLarge } from "../attachments/attachment-folder.ts";
import { ownerOf } from "../auth/credential.ts";
import { createAnswer } from "../http/answer.ts";
import type { HttpRequest } from "../http/http-request.ts";
import { Refusal } from "../http/refusal.ts";
import { type Endpoint, messageBody } from "../http/router.ts";
import { FORM_SIZE_MAX } from "../limits/limits.ts";
import { type ArrivalBounds, arrivingBody } from "./arriving-body.ts";
import type { DataApp, DataGate } from "./data-gate.ts";
import { formFile } from "./form-file.ts";
import { UploadShares } from "./upload-shares.ts";

/** An app as the upload endpoint uses it. */
export interface UploadApp extends DataApp {
  readonly attachments: Pick<AttachmentFolder, "add">;
}

export interface UploadHost extends ArrivalBounds {
  readonly gate: Pick<DataGate<UploadApp>, "authenticate" | "failureOf">;
  /** Maximum bytes of one content. */
  readonly sizeMax: number;
  /** Left out, the endpoint has shares of its own. */
  readonly shares?: UploadShares;
}

export function uploadEndpoint(host: UploadHost): Endpoint {
  const { gate, sizeMax, shares = new UploadShares(host.onRefused) } = host;
  // The form around the file is not stored, but it is bounded as well.
  const size = { sizeMax: sizeMax + FORM_SIZE_MAX, tooLarge: () => tooLarge(sizeMax) };
  return {
    name: "upload_attachment",
    path: "/attachments/upload",
    methods: ["POST"],
    failureBody: messageBody,
    answer: async (request, place) => {
      const { use, app, credential } = await gate.authenticate(request, place);
      try {
        if (!credential.mayUpload) throw mayNotUpload();
        const type = formType(request.headers);
        checkAnnounced(request, sizeMax);
        return await shares.run(app.id, ownerOf(app.id, credential), async () => {
          const body = arrivingBody(request.openBody(), size, host);
          const { id, len } = await app.attachments.add(formFile(body, type), credential.id);
          return createAnswer(200, { id, len });
        });
      } catch (error) {
        throw gate.failureOf(error, app.id);
      } finally {
        use.release();
      }
    },
  };
}

/** Its code tells a peer that another session would not help. */
export function mayNotUpload(): PeerError {
  return new PeerError("permission.denied", "the credential may not write anything");
}

/** Refuses a compressed body: the bytes of the content count. */
export function checkPlain(headers: IncomingHttpHeaders): void {
  const coding = headers["content-encoding"] ?? "identity";
  if (coding.toLowerCase() === "identity") return;
  throw new Refusal(415, `expected a body without content encoding, found ${coding}`);
}

/** Content type without its parameters, in lower case. */
export function mediaType(contentType: string): string | undefined {
  return contentType.split(";", 1)[0]?.trim().toLowerCase();
}

/** Content type with its boundary. */
function formType(headers: IncomingHttpHeaders): string {
  checkPlain(headers);
  const given = headers["content-type"] ?? "";
  if (mediaType(given) === "multipart/form-data") return given;
  const found = given === "" ? "none" : given;
  throw new Refusal(415, `expected the content type multipart/form-data, found ${found}`);
}

/** Refuses a body whose announced length is too large before it is sent. */
function checkAnnounced({ headers }: HttpRequest, sizeMax: number): void {
  const announced = Number(headers["content-length"] ?? 0);
  if (announced > sizeMax + FORM_SIZE_MAX) throw tooLarge(sizeMax);
}
