/**
 * What the server reads by hand from requests takes steps in proportion to its length: headers, paths,
 * queries, tokens and forms.
 */
import { expect, test } from "vitest";
import { findGrowthFaults, type Shapes } from "../../../protocol/test/support/growth.ts";
import { networkOf, readAddressRange } from "../../src/address/client-address.ts";
import { peekToken } from "../../src/auth/json-web-token.ts";
import { wantedTransaction } from "../../src/data-api/consistency.ts";
import { formFile } from "../../src/data-api/form-file.ts";
import { bearerOf } from "../../src/http/bearer.ts";
import { byteRange } from "../../src/http/byte-range.ts";
import { isNamedBy } from "../../src/http/entity-tag.ts";
import { chooseCoding, chooseForm } from "../../src/http/negotiation.ts";
import { PathTable } from "../../src/http/path-table.ts";
import { decoderOf } from "../../src/http/request-format.ts";
import { pathOf } from "../../src/http/router.ts";
import { readPageRequest } from "../../src/management/page.ts";
import { idOfKeyText } from "../../src/registry/api-key.ts";
import { isName } from "../../src/validation/name.ts";

/** More than fits into the headers of a request. */
const SIZE = 4_000;

const TEXTS: Shapes<string> = {
  letters: (size) => "a".repeat(size),
  digits: (size) => "9".repeat(size),
  zeros: (size) => "0".repeat(size),
  spaces: (size) => " ".repeat(size),
  spacesAndEnd: (size) => `${" ".repeat(size)}x`,
  commas: (size) => ",".repeat(size),
  parts: (size) => "a/b;q=0.5, ".repeat(size / 11),
  codings: (size) => "gzip;q=0.1,".repeat(size / 11),
  semicolons: (size) => `application/json${";".repeat(size)}`,
  charsets: (size) => `application/json${";charset=utf-8".repeat(size / 14)}`,
  quotes: (size) => '"'.repeat(size),
  tags: (size) => 'W/"a",'.repeat(size / 6),
  ranges: (size) => `bytes=${"0-1,".repeat(size / 4)}`,
  longRange: (size) => `bytes=0-${"9".repeat(size)}`,
  bearer: (size) => `Bearer ${" ".repeat(size)}x`,
  bearers: (size) => "Bearer ".repeat(size / 7),
  dots: (size) => ".".repeat(size),
  token: (size) => `e30.${"A".repeat(size)}.x`,
  claims: (size) => {
    const claims = Buffer.from(`{"aud":[${'"a",'.repeat(size / 4)}"b"]}`).toString("base64url");
    return `e30.${claims}.x`;
  },
  key: (size) => `bp_${"a".repeat(size)}_${"b".repeat(size)}`,
  slashes: (size) => "/".repeat(size),
  path: (size) => "/a".repeat(size / 2),
  percents: (size) => `/${"%61".repeat(size / 3)}`,
  brokenPercents: (size) => `/${"%".repeat(size)}`,
  origin: (size) => `http://${"a".repeat(size)}`,
  query: (size) => "page=1&".repeat(size / 7),
  equals: (size) => "=".repeat(size),
  colons: (size) => ":".repeat(size),
  address: (size) => `1.2.3.4${"/".repeat(size)}`,
  dashes: (size) => "-".repeat(size),
};

const paths = new PathTable([{ path: "/a/{one}/b/{two}" }, { path: "/a/b" }]);

const READERS: readonly (readonly [string, (text: string) => unknown])[] = [
  ["Range", (text) => byteRange(text, 1_000)],
  ["If-None-Match", (text) => isNamedBy(text, '"tag"')],
  ["Accept", chooseForm],
  ["Accept-Encoding", chooseCoding],
  ["Authorization", bearerOf],
  ["Content-Type", (text) => decoderOf({ "content-type": text })],
  ["X-SERVICE-TXN-ID", (text) => wantedTransaction({ "x-service-txn-id": text })],
  ["an address", networkOf],
  ["a range of addresses", readAddressRange],
  ["a token", peekToken],
  ["an API key", idOfKeyText],
  ["a name", isName],
  ["a path", (text) => paths.find(pathOf(text))],
  ["the query of a page", readPageRequest],
];

test.each(READERS)("[V10] %s takes steps in proportion to its length", async (_, run) => {
  expect(await findGrowthFaults(TEXTS, run, SIZE)).toEqual({});
});

const BOUNDARY = "b";
const OPEN = `--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n`;
const CLOSE = `\r\n--${BOUNDARY}--\r\n`;

const FORMS: Shapes<string> = {
  content: (size) => OPEN + "a".repeat(size) + CLOSE,
  lineEnds: (size) => OPEN + "\r\n".repeat(size / 2) + CLOSE,
  nearBoundaries: (size) => OPEN + "\r\n--".repeat(size / 4) + CLOSE,
  dashes: (size) => OPEN + "-".repeat(size) + CLOSE,
  parts: (size) => OPEN.repeat(size / OPEN.length) + CLOSE,
  emptyParts: (size) => `--${BOUNDARY}\r\n\r\n\r\n`.repeat(size / 9) + CLOSE,
  headers: (size) => `--${BOUNDARY}\r\n${"a: b\r\n".repeat(size / 6)}\r\n`,
  longHeader: (size) => `--${BOUNDARY}\r\na: ${"b".repeat(size)}\r\n\r\n${CLOSE}`,
  longName: (size) =>
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${"a".repeat(size)}"\r\n\r\nx${CLOSE}`,
  parameters: (size) =>
    `--${BOUNDARY}\r\ncontent-disposition: form-data${'; a="b"'.repeat(size / 7)}\r\n\r\nx${CLOSE}`,
  preamble: (size) => "a\r\n".repeat(size / 3) + OPEN + CLOSE,
  open: (size) => OPEN + "a".repeat(size),
};

/** As a connection brings it: in chunks of 4 KB, or of three bytes. */
async function readForm(text: string, chunkSize: number): Promise<number> {
  const bytes = Buffer.from(text);
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let from = 0; from < bytes.length; from += chunkSize) {
      yield bytes.subarray(from, from + chunkSize);
    }
  }
  let size = 0;
  const type = `multipart/form-data; boundary=${BOUNDARY}`;
  for await (const chunk of formFile(chunks(), type)) size += chunk.length;
  return size;
}

test.each([4_096, 3])(
  "[V10] a form that arrives in chunks of %d bytes takes steps in proportion to its size",
  async (chunkSize) => {
    const run = (text: string): Promise<number> => readForm(text, chunkSize);
    const size = chunkSize === 3 ? 600 : 20_000;
    expect(await findGrowthFaults(FORMS, run, size)).toEqual({});
  },
);
