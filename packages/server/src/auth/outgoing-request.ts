/**
 * Outgoing HTTP request to a webhook or key set, with a timeout and a size limit. It follows no
 * redirect: the server contacts only the configured URL.
 */

export interface OutgoingRequest {
  readonly url: string;
  readonly timeoutMs: number;
  /** Maximum bytes of the answer. */
  readonly sizeMax: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** With a body the request is a POST, otherwise a GET. */
  readonly body?: string;
}

export interface OutgoingAnswer {
  readonly status: number;
  readonly bytes: Uint8Array;
}

/** Error of an outgoing request. The message is for the log. */
export class OutgoingFault extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "OutgoingFault";
  }
}

/** Throws an OutgoingFault when no complete answer arrives. */
export async function sendRequest(request: OutgoingRequest): Promise<OutgoingAnswer> {
  const { url, timeoutMs, sizeMax, headers = {}, body } = request;
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, {
      method: body === undefined ? "GET" : "POST",
      headers: { accept: "application/json", ...headers },
      redirect: "manual",
      signal,
      ...(body !== undefined && { body }),
    });
    return { status: response.status, bytes: await readBytes(response, sizeMax) };
  } catch (error) {
    if (error instanceof OutgoingFault) throw error;
    if (signal.aborted) throw new OutgoingFault(`expected an answer within ${timeoutMs} ms`);
    throw new OutgoingFault(`expected an answer: ${reasonOf(error)}`, error);
  }
}

/** Leaving the loop early cancels the rest of the body. */
async function readBytes({ body }: Response, sizeMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > sizeMax) throw new OutgoingFault(`expected an answer of at most ${sizeMax} bytes`);
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
}

/** `fetch failed` says nothing; its cause does. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error && cause.message !== "" ? cause.message : error.message;
}
