/**
 * Fixed content: bytes that do not change while the server runs. They are compressed once, and
 * their entity tag lets clients cache them.
 */

import { createHash } from "node:crypto";
import { type Answer, contentAnswer, type Headers } from "../http/answer.ts";
import { withVary } from "../http/answer-encoding.ts";
import { COMPRESSED_SIZE_MIN, type Compressed, compress } from "../http/compression.ts";
import { isNamedBy } from "../http/entity-tag.ts";
import type { HttpRequest } from "../http/http-request.ts";
import { type Coding, chooseCoding } from "../http/negotiation.ts";

export class FixedContent {
  readonly #bytes: Uint8Array;
  readonly #headers: Headers;
  readonly #coded = new Map<Coding, Uint8Array>();

  /** `headers` of every answer with it, including the content type. */
  constructor(bytes: Uint8Array, headers: Headers) {
    const digest = createHash("sha256").update(bytes).digest("base64url").slice(0, 22);
    this.#bytes = bytes;
    // Weak, because it covers all codings. Clients must revalidate: a new version has other
    // content.
    this.#headers = { ...headers, etag: `W/"${digest}"`, "cache-control": "no-cache" };
  }

  async answer({ headers }: HttpRequest): Promise<Answer> {
    const own = this.#headers;
    if (isNamedBy(headers["if-none-match"], own["etag"] ?? "")) {
      const { "content-type": _, ...kept } = own;
      const nothing = new Uint8Array();
      const head = withVary(kept, "accept-encoding");
      return contentAnswer(304, { kind: "bytes", bytes: nothing }, head);
    }
    const { coding, bytes } = await this.#code(chooseCoding(headers["accept-encoding"]));
    const head = coding === "identity" ? own : { ...own, "content-encoding": coding };
    return contentAnswer(200, { kind: "bytes", bytes }, head);
  }

  async #code(coding: Coding): Promise<Compressed> {
    const plain: Compressed = { coding: "identity", bytes: this.#bytes };
    if (coding === "identity" || plain.bytes.length < COMPRESSED_SIZE_MIN) return plain;
    const known = this.#coded.get(coding);
    if (known !== undefined) return { coding, bytes: known };
    const coded = await compress(this.#bytes, coding);
    if (coded.coding === coding) this.#coded.set(coding, coded.bytes);
    return coded;
  }
}
