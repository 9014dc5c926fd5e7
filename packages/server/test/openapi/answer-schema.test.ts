/**
 * The check that all other tests of the data API use on every answer: that it sees what is wrong.
 */

import { expect, test } from "vitest";
import { answerFaults, type ReceivedAnswer } from "../support/answer-schema.ts";

function headersOf(changes: Record<string, string> = {}): Headers {
  return new Headers({ "content-type": "application/json", "x-request-id": "r1", ...changes });
}

const FOUND: ReceivedAnswer = {
  operation: "find",
  status: 200,
  headers: headersOf(),
  body: { documents: [{ id: 1, fields: { a: { b: [1n, null] } } }], txnId: 2n ** 60n },
};

const EXECUTED: ReceivedAnswer = {
  operation: "execute",
  status: 200,
  headers: headersOf(),
  body: {
    queryType: "select",
    items: [],
    mutatedDocumentIds: [],
    warnings: [],
    totalWarningsCount: 0,
    error: {},
  },
};

test.each<[string, ReceivedAnswer]>([
  ["of find", FOUND],
  ["in CBOR", { ...FOUND, headers: headersOf({ "content-type": "application/cbor" }) }],
  ["with binary", { ...FOUND, body: { documents: [{ id: new Uint8Array(2), fields: {} }] } }],
  ["of execute", EXECUTED],
  [
    "to another method",
    { ...FOUND, status: 405, headers: headersOf({ allow: "POST" }), body: { message: "no" } },
  ],
  [
    "that says when to try again",
    { ...FOUND, status: 503, headers: headersOf({ "retry-after": "1" }), body: { message: "no" } },
  ],
  [
    "of a download",
    {
      operation: "download_attachment",
      status: 200,
      headers: headersOf({
        "content-type": "application/octet-stream",
        etag: '"a"',
        "accept-ranges": "bytes",
      }),
    },
  ],
  [
    "without content",
    { operation: "head_attachment", status: 304, headers: headersOf({ etag: '"a"' }) },
  ],
])("an answer %s is valid", (_, answer) => {
  expect(answerFaults(answer)).toEqual([]);
});

const MORE = { documents: [{ id: 1, fields: {}, extra: 1 }], txnId: 1 };

test.each<[string, ReceivedAnswer, string]>([
  ["operation", { ...FOUND, operation: "seek" }, "there is no operation seek"],
  ["status", { ...FOUND, status: 418 }, "418 is not documented"],
  ["status", { ...FOUND, status: 403 }, "403 is not documented"],
  [
    "content type",
    { ...EXECUTED, headers: headersOf({ "content-type": "application/cbor" }) },
    "the content type application/cbor is not documented",
  ],
  [
    "header",
    { ...FOUND, headers: new Headers({ "content-type": "application/json" }) },
    "the header X-Request-Id is missing",
  ],
  [
    "header",
    { ...FOUND, status: 503, body: { message: "no" } },
    "the header Retry-After is missing",
  ],
  [
    "header",
    { ...FOUND, status: 429, headers: headersOf({ "retry-after": "x" }), body: { message: "no" } },
    'header Retry-After: /: must be integer {"type":"integer"}',
  ],
  ["body", { ...FOUND, body: undefined }, "there is no body"],
  [
    "body",
    { operation: "head_attachment", status: 500, headers: headersOf(), body: {} },
    "there is a body",
  ],
  [
    "body",
    { ...FOUND, body: { txnId: 1 } },
    `/: must have required property 'documents' {"missingProperty":"documents"}`,
  ],
  [
    "body",
    { ...FOUND, body: MORE },
    '/documents/0: must NOT have additional properties {"additionalProperty":"extra"}',
  ],
  [
    "body",
    { ...FOUND, body: { documents: [], txnId: "1" } },
    '/txnId: must be integer {"type":"integer"}',
  ],
  [
    "body",
    { ...EXECUTED, status: 400, body: { message: "no" } },
    `/: must have required property 'queryType' {"missingProperty":"queryType"}`,
  ],
])("a wrong %s is found", (_, answer, fault) => {
  expect(answerFaults(answer)).toContain(fault);
});
