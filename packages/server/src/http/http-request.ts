/**
 * A request as the endpoints see it. Its body is read only when somebody asks for it: whoever may
 * not send one is answered before.
 */

import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { BODY_MS_MAX, BODY_SIZE_MAX } from "../limits.ts";
import { Refusal } from "./refusal.ts";

export interface HttpRequest {
  /** Made here, for the log and for whoever asks about a failure. */
  readonly id: string;
  readonly method: string;
  /** As on the wire, with its query. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** What the body will have at most. */
  readonly bodySizeMax: number;
  /** Calls `listener` when the client leaves before it was answered. Returns the way to stop it. */
  onHangUp(listener: () => void): () => void;
  /** To be called once. Rejects with a Refusal when the body is too large or does not come. */
  readBody(): Promise<Uint8Array>;
}

/** What the body of `request` can have at most, as far as we would read it. */
export function bodySizeMaxOf({ headers }: Pick<IncomingMessage, "headers">): number {
  const announced = headers["content-length"];
  if (announced !== undefined) return Number(announced);
  return headers["transfer-encoding"] === undefined ? 0 : BODY_SIZE_MAX;
}

/** Whether the client will go on sending more than is worth waiting for. */
export function isLongUnread(request: IncomingMessage): boolean {
  if (request.complete) return false;
  const isChunked = request.headers["transfer-encoding"] !== undefined;
  return isChunked || bodySizeMaxOf(request) > BODY_SIZE_MAX;
}

export interface BodyOptions {
  /** Called when the body is wanted: a client may wait to be told so. */
  readonly begin?: () => void;
  readonly timeMsMax?: number;
}

/** The whole body, within its bounds of size and time. The connection stays usable either way. */
export function readBody(
  request: IncomingMessage,
  { begin, timeMsMax = BODY_MS_MAX }: BodyOptions = {},
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    if (bodySizeMaxOf(request) > BODY_SIZE_MAX) return reject(tooLarge());
    begin?.();
    const chunks: Uint8Array[] = [];
    let size = 0;
    const stop = (): void => {
      clearTimeout(timer);
      request.off("data", take).off("end", end).off("error", leave).off("close", leave);
    };
    const refuse = (refusal: Refusal): void => {
      stop();
      // An error that comes after nobody listens would end the process.
      request.on("error", () => {}).pause();
      reject(refusal);
    };
    const take = (chunk: Uint8Array): void => {
      chunks.push(chunk);
      size += chunk.length;
      if (size > BODY_SIZE_MAX) refuse(tooLarge());
    };
    const end = (): void => {
      stop();
      resolve(join(chunks, size));
    };
    const leave = (): void => refuse(new Refusal(400, "the connection ended inside the body"));
    const timer = setTimeout(() => refuse(tooSlow(timeMsMax)), timeMsMax);
    request.on("data", take).on("end", end).on("error", leave).on("close", leave);
  });
}

/** A plain array: a Buffer would be a value of another class than the one that storage gives. */
function join(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}

function tooLarge(): Refusal {
  return new Refusal(413, `expected a body of at most ${BODY_SIZE_MAX} bytes`);
}

function tooSlow(timeMsMax: number): Refusal {
  return new Refusal(408, `expected the whole body within ${timeMsMax} ms`);
}
