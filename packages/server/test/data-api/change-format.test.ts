import type { FeedLine } from "@bigpeer/engine/changes";
import { expect, test } from "vitest";
import { chooseChangeFormat, EVENTS, LINES } from "../../src/data-api/change-format.ts";

function line(txnId: number): FeedLine {
  return { txnId, cursor: `h.${txnId}`, change: undefined, json: `{"n":${txnId}}` };
}

const [one, two, three] = [line(1), line(2), line(3)];

test("[C20] an event has the cursor as id, and a line of JSON has it as a field", () => {
  expect(EVENTS.encode([one, two]).toString()).toBe(
    'id: h.1\ndata: {"n":1}\n\nid: h.2\ndata: {"n":2}\n\n',
  );
  expect(LINES.encode([one, two]).toString()).toBe(
    '{"n":1,"cursor":"h.1"}\n{"n":2,"cursor":"h.2"}\n',
  );
  expect(LINES.marker('{"marker":"ready"}', "h.2").toString()).toBe(
    '{"marker":"ready","cursor":"h.2"}\n',
  );
});

test("[C10] streams that send the same lines share their bytes, and others do not", () => {
  const bytes = EVENTS.encode([one, two, three]);
  expect(EVENTS.encode([one, two, three])).toBe(bytes);
  expect(EVENTS.encode([two, three]).toString()).toBe(
    'id: h.2\ndata: {"n":2}\n\nid: h.3\ndata: {"n":3}\n\n',
  );
  expect(EVENTS.encode([one, three]).toString()).toBe(
    'id: h.1\ndata: {"n":1}\n\nid: h.3\ndata: {"n":3}\n\n',
  );
});

test("[C11] bytes of lines from long ago are not kept", () => {
  const bytes = EVENTS.encode([one]);
  for (let txnId = 10; txnId < 100; txnId++) EVENTS.encode([line(txnId)]);
  expect(EVENTS.encode([one])).not.toBe(bytes);
});

test.each([
  [undefined, EVENTS],
  ["*/*", EVENTS],
  ["application/x-ndjson", LINES],
  ["application/x-ndjson;q=0.1, text/event-stream", EVENTS],
  ["text/event-stream;q=0.1, application/jsonl", LINES],
])("[C20] Accept: %s chooses the format", (accept, format) => {
  expect(chooseChangeFormat(accept)).toBe(format);
});
