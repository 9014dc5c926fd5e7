/**
 * Upload endpoint, `POST /attachments/upload`: stores the content of an attachment, sent as the one
 * file of a form (H36).
 */

import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { type AttachmentFolder, tooLarge } from "../attachments/attachment-folder.ts";
import { ownerOf } from "../auth/credential.ts";
import { unauthorized } from "../auth/unauthorized.ts";
import { createAnswer } from "../http/answer.ts";
import type { HttpRequest } from "../http/http-request.ts";
import { Refusal, unavailable } from "../http/refusal.ts";
import { type Endpoint, messageBody } from "../http/router.ts";
import {
  FORM_SIZE_MAX,
  UPLOAD_IDLE_MS_MAX,
  UPLOAD_RATE_MIN,
  UPLOADS_MAX,
  UPLOADS_PER_APP_MAX,
  UPLOADS_PER_CREDENTIAL_MAX,
} from "../limits/limits.ts";
import { MinimumRate, type RateBounds } from "../limits/minimum-rate.ts";
import { Shares } from "../limits/shares.ts";
import type { DataApp, DataGate } from "./data-gate.ts";
import { formFile } from "./form-file.ts";

/** An app as the upload endpoint uses it. */
export interface UploadApp extends DataApp {
  readonly attachments: Pick<AttachmentFolder, "add">;
}

export interface UploadHost {
  readonly gate: Pick<DataGate<UploadApp>, "authenticate" | "failureOf">;
  /** Maximum bytes of one content. */
  readonly sizeMax: number;
  /** Longest pause of a body, and its minimum rate. */
  readonly idleMsMax?: number;
  readonly rateMin?: RateBounds;
  /** Milliseconds of a monotonic clock. */
  readonly elapsed?: () => number;
  /** Called for each upload that is refused because of a limit, with its name. */
  readonly onRefused?: (bound: string) => void;
}

export function uploadEndpoint(host: UploadHost): Endpoint {
  const { gate } = host;
  const ofApps = new Shares({ max: UPLOADS_MAX, perOwnerMax: UPLOADS_PER_APP_MAX });
  const ofCredentials = new Shares({
    max: UPLOADS_MAX,
    perOwnerMax: UPLOADS_PER_CREDENTIAL_MAX,
  });
  return {
    name: "upload_attachment",
    path: "/attachments/upload",
    methods: ["POST"],
    failureBody: messageBody,
    answer: async (request, place) => {
      const { use, app, credential } = await gate.authenticate(request, place);
      const owner = ownerOf(app.id, credential);
      let isCounted = false;
      try {
        if (!credential.mayUpload) throw unauthorized("the credential may not write anything");
        const type = formType(request.headers);
        checkAnnounced(request, host.sizeMax);
        isCounted = ofCredentials.hasLeft(owner) && ofApps.take(app.id);
        if (!isCounted) throw tooMany(host);
        ofCredentials.take(owner);
        const body = arriving(request.openBody(), host);
        const { id, len } = await app.attachments.add(formFile(body, type), credential.id);
        return createAnswer(200, { id, len });
      } catch (error) {
        throw gate.failureOf(error, app.id);
      } finally {
        if (isCounted) {
          ofApps.give(app.id);
          ofCredentials.give(owner);
        }
        use.release();
      }
    },
  };
}

/** Content type with its boundary. */
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

/** Refuses a body whose announced length is too large before it is sent. */
function checkAnnounced({ headers }: HttpRequest, sizeMax: number): void {
  const announced = Number(headers["content-length"] ?? 0);
  if (announced > sizeMax + FORM_SIZE_MAX) throw tooLarge(sizeMax);
}

function tooMany({ onRefused }: UploadHost): Refusal {
  onRefused?.("uploads");
  return unavailable("the server, this app or this credential has too many uploads under way", 1);
}

/** Yields the body as it arrives. Only pauses of the client count, not a slow disk. */
async function* arriving(body: Readable, host: UploadHost): AsyncGenerator<Uint8Array> {
  const { sizeMax, idleMsMax = UPLOAD_IDLE_MS_MAX, rateMin = UPLOAD_RATE_MIN } = host;
  const { elapsed = () => performance.now() } = host;
  const rate = new MinimumRate(rateMin);
  const tooSlow = new Refusal(408, `expected the upload to go on within ${idleMsMax} ms`);
  const wait = (): NodeJS.Timeout => setTimeout(() => body.destroy(tooSlow), idleMsMax);
  let size = 0;
  let timer = wait();
  let sinceMs = elapsed();
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      clearTimeout(timer);
      size += chunk.length;
      // The form around the file is not stored, but it is bounded as well.
      if (size > sizeMax + FORM_SIZE_MAX) throw tooLarge(sizeMax);
      if (!rate.note(elapsed() - sinceMs, chunk.length)) {
        host.onRefused?.("slow_upload");
        throw belowRate(rateMin);
      }
      yield chunk;
      timer = wait();
      sinceMs = elapsed();
    }
  } finally {
    clearTimeout(timer);
  }
}

function belowRate({ windowMs, bytes }: RateBounds): Refusal {
  return new Refusal(408, `expected at least ${bytes} bytes of the upload within ${windowMs} ms`);
}
