/**
 * ContentTransport: how contents go to the server and come from it. Each call fails with a
 * TransferError, which says whether another attempt can succeed.
 */

import type { ErrorCode } from "@bigpeer/protocol";
import type { TokenContent } from "../../store/attachment-tokens.ts";
import type { Cancel } from "./cancel.ts";
import type { CreatedContent } from "./content-place.ts";

/**
 * - `lost`: the connection failed or ended.
 * - `later`: the server cannot take or give it now. With the code `store.full` it has no space.
 * - `absent`: it is not on the server, or this peer may not read it. Of an upload: the server has no
 *   such app, or no uploads at this address.
 * - `refused`: the server does not take it, or has another content than its token says.
 */
export type TransferFault = "lost" | "later" | "absent" | "refused";

interface TransferErrorDetails {
  readonly afterMs?: number;
  readonly code?: ErrorCode;
}

export class TransferError extends Error {
  override readonly name = "TransferError";
  readonly fault: TransferFault;
  /** The least wait before the next attempt that the server asks for. */
  readonly afterMs: number;
  /** What an app gets of a transfer that is refused, or that cannot succeed for long. */
  readonly code: ErrorCode;

  constructor(
    fault: TransferFault,
    message: string,
    { afterMs = 0, code = "attachment.invalid" }: TransferErrorDetails = {},
  ) {
    super(message);
    this.fault = fault;
    this.afterMs = afterMs;
    this.code = code;
  }
}

export interface ContentTransport {
  /** The byte from which on the server wants the content; its length if the server has it. */
  begin(content: CreatedContent, cancel: Cancel): Promise<number>;
  /** Sends the content from a byte on. Resolves with the byte that comes next. */
  send(
    content: CreatedContent,
    offset: number,
    pieces: AsyncIterable<Uint8Array>,
    cancel: Cancel,
  ): Promise<number>;
  /** The content from a byte on, until it ends or the connection does. */
  receive(content: TokenContent, offset: number, cancel: Cancel): AsyncIterable<Uint8Array>;
}
