/**
 * Fixed content: bytes that do not change while the server runs. They are compressed once, and
 * their entity tag lets clients cache them.
 */

import { createHash } from "node:crypto";
import { type Answer, contentAnswer, type Headers } from "./answer.ts";
import { withVary } from "./answer-encoding.ts";
import { type Compressed, compress, isCompressible } from "./compression.ts";
import { isNamedBy } from "./entity-tag.ts";
import type { HttpRequest } from "./http-request.ts";
import { type Coding, chooseCoding } from "./negotiation.ts";

export class FixedContent {
  readonly #bytes: Uint8Array;
  readonly #headers: Headers;
  readonly #coded = new Map<Coding, Uint8Array>();

  /** `headers` of every answer with it, including the content type. */
  constructor(bytes: Uint8Array, headers: Headers) {
    const digest = createHash("sha256").update(bytes).digest("base64url").slice(0, 22);
    this.#bytes = bytes;
    // Weak, because it covers all codings. Unless the headers say otherwise, clients must
    // revalidate: a new version has other content.
    this.#headers = { "cache-control": "no-cache", ...headers, etag: `W/"${digest}"` };
  }

  async answer({ headers }: HttpRequest, status = 200): Promise<Answer> {
    const own = this.#headers;
    if (status === 200 && isNamedBy(headers["if-none-match"], own["etag"] ?? "")) {
      const { "content-type": _, ...kept } = own;
      const nothing = new Uint8Array();
      const head = withVary(kept, "accept-encoding");
      return contentAnswer(304, { kind: "bytes", bytes: nothing }, head);
    }
    const { coding, bytes } = await this.#code(chooseCoding(headers["accept-encoding"]));
    const head = coding === "identity" ? own : { ...own, "content-encoding": coding };
    return contentAnswer(status, { kind: "bytes", bytes }, head);
  }

  async #code(coding: Coding): Promise<Compressed> {
    const plain: Compressed = { coding: "identity", bytes: this.#bytes };
    const isPlain =
      coding === "identity" || !isCompressible(this.#headers["content-type"], plain.bytes);
    if (isPlain) return plain;
    const known = this.#coded.get(coding);
    if (known !== undefined) return { coding, bytes: known };
    const coded = await compress(this.#bytes, coding);
    if (coded.coding === coding) this.#coded.set(coding, coded.bytes);
    return coded;
  }
}
