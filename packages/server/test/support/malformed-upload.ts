/**
 * Uploads and downloads of attachments that must be refused: bodies that are no multipart, or have
 * no file, or too large a one; parts with a wrong offset or digest; ids that nobody has.
 */

import type { Random } from "../../../engine/test/support/random.ts";
import { answered, goodHeaders, type Head, type Sending, type Target } from "./malformed-head.ts";
import { contentLength, requestBytes } from "./raw-connection.ts";

/** What the server of the test takes at most; see its settings. */
export const ATTACHMENT_SIZE_MAX = 100_000;

const BOUNDARY = "----boundary-of-the-test";
const TYPE = `multipart/form-data; boundary=${BOUNDARY}`;
const FILE = 'Content-Disposition: form-data; name="file"; filename="a.bin"';

interface Multipart {
  readonly type?: string;
  readonly body: string;
}

/** One part, without what ends the whole. */
function part(head: string, content: string): string {
  return `--${BOUNDARY}\r\n${head}\r\n\r\n${content}\r\n`;
}

const END = `--${BOUNDARY}--\r\n`;

/** The first stands for none. */
const TYPES: readonly string[] = [
  "",
  "application/json",
  "application/octet-stream",
  "text/plain",
  "multipart/mixed; boundary=x",
  "multipart/form-data",
  "multipart/form-data; boundary=",
  'multipart/form-data; boundary=""',
  "multipart/form-data; charset=utf-8",
  "multipart/form-data boundary=x",
  "multipart; boundary=x",
];

const HEADS: readonly string[] = [
  "",
  "Content-Type: text/plain",
  "Content-Disposition: form-data",
  'Content-Disposition: form-data; name=""',
  'Content-Disposition: form-data; name="files"; filename="a"',
  'Content-Disposition: form-data; name="FILE"; filename="a"',
  'Content-Disposition: attachment; filename="file"',
  'Content-Disposition: form-data; filename="file"',
  "no colon",
  `X-Long: ${"x".repeat(70_000)}`,
  `${FILE.replace("file", "other")}\r\nX: y`,
];

/** Each without a file that could be kept, or without an end. */
const BODIES: readonly ((content: string, random: Random) => Multipart)[] = [
  () => ({ body: "" }),
  () => ({ body: END }),
  () => ({ body: "no boundary anywhere" }),
  (content) => ({ body: part(FILE, content) }),
  (content) => ({ body: `${part(FILE, content)}--${BOUNDARY}` }),
  (content) => ({ body: `--${BOUNDARY}\r\n${FILE}\r\n\r\n${content}${END}` }),
  (content) => ({ body: `--${BOUNDARY}\r\n${FILE}\r\n${content.replaceAll(/[\r\n]/g, "")}` }),
  (content) => ({ body: part(FILE, content) + part(FILE, `${content}2`) + END }),
  (content, random) => ({ body: part(random.pick(HEADS), content) + END }),
  (content, random) => ({ type: random.pick(TYPES), body: part(FILE, content) + END }),
  (content) => ({ type: `${TYPE}-of-another`, body: part(FILE, content) + END }),
  (content, random) => {
    const body = part(FILE, content) + END;
    // The last line may be without its end.
    return { body: body.slice(0, random.below(body.length - 4)) };
  },
  (content) => ({ body: (part(FILE, content) + END).replaceAll("\r\n", "\r") }),
  (_, random) => ({
    body: part(FILE, "L".repeat(ATTACHMENT_SIZE_MAX + 1 + random.below(50_000))) + END,
  }),
];

const BAD_IDS: readonly string[] = [
  "x",
  "..",
  "%2e%2e",
  "%2e%2e%2f%2e%2e%2fquickstart.json",
  "%00",
  "%",
  "%zz",
  "%ff",
  "A".repeat(43),
  "A".repeat(5_000),
  "uU0nuZNNPgilLlLX2n2r-sSE7-N6U4DukIj3rOLvzek=",
  "uU0nuZNNPgilLlLX2n2r-sSE7-N6U4DukIj3rOLvze%6c",
  "..%5c..%5clock",
  "__proto__",
  "store",
];

/** Behind the end of the content, which is short. */
const BAD_RANGES: readonly string[] = ["bytes=1000-", "bytes=1000-1001", "bytes=-0"];

function download(random: Random, target: Target): Head {
  const isThere = random.oneIn(4);
  const id = isThere ? target.attachmentId : random.pick(BAD_IDS);
  const range = random.pick(isThere ? BAD_RANGES : ["bytes=0-", "bytes=9-1", "x", ""]);
  return {
    operation: "download_attachment",
    method: "GET",
    target: `/api/v4/attachments/${id}`,
    headers: [...goodHeaders(target), ["Range", range]],
  };
}

/** An id that no content of the test has, and that no other request uses. */
function someId(random: Random): string {
  const letters = Array.from({ length: 43 }, () => "abcdefghijklmnop"[random.below(16)]);
  return letters.join("");
}

const BAD_NUMBERS: readonly string[] = [
  "",
  "-1",
  "1.5",
  "0x1",
  "1e1",
  "many",
  "9".repeat(20),
  "1, 2",
];

/** Parts of a path that can be read, and are not the hash of a content. */
const NO_IDS: readonly string[] = [
  "x",
  "%00",
  "__proto__",
  "A".repeat(42),
  "A".repeat(5_000),
  "upload",
];

const BAD_BEGINNINGS: readonly string[] = [
  "",
  "{}",
  "[]",
  '{"len":-1}',
  '{"len":"1"}',
  '{"len":1.5}',
  '{"len":1,"proof":1}',
  '{"len":99999999999999999999}',
  `{"len":${ATTACHMENT_SIZE_MAX + 1}}`,
  '{"len":1',
];

function malformedBeginning(random: Random, target: Target): Sending {
  const isBadId = random.oneIn(3);
  const id = isBadId ? random.pick(NO_IDS) : someId(random);
  const body = isBadId ? '{"len":1}' : random.pick(BAD_BEGINNINGS);
  return answered({
    operation: "begin_upload",
    method: "POST",
    target: `/api/v4/attachments/${id}/upload`,
    headers: [...goodHeaders(target), ["Content-Type", "application/json"]],
    body: Buffer.from(body),
  });
}

/** Each has the wrong digest at best. */
function malformedPart(random: Random, target: Target): Sending {
  const content = Buffer.from(Array.from({ length: 1 + random.below(300) }, () => 1));
  const size = content.length;
  const [type, offset, length] = random.pick([
    ["application/octet-stream", "0", String(size)],
    ["application/octet-stream", "0", String(size - 1)],
    ["application/octet-stream", "1", String(size + 1)],
    ["application/octet-stream", String(size), "0"],
    ["application/octet-stream", "0", String(ATTACHMENT_SIZE_MAX + 1)],
    ["application/octet-stream", random.pick(BAD_NUMBERS), String(size)],
    ["application/octet-stream", "0", random.pick(BAD_NUMBERS)],
    [random.pick(TYPES.filter((each) => each !== "application/octet-stream")), "0", String(size)],
  ] as const);
  const headers = [...goodHeaders(target)];
  headers.push(["Upload-Offset", offset], ["Upload-Length", length]);
  if (type !== "") headers.push(["Content-Type", type]);
  const path = `/api/v4/attachments/${someId(random)}/upload`;
  return answered({
    operation: "continue_upload",
    method: "PATCH",
    target: path,
    headers,
    body: content,
  });
}

export function malformedUpload(random: Random, target: Target): Sending {
  if (random.oneIn(5)) return answered(download(random, target));
  if (random.oneIn(6)) return malformedBeginning(random, target);
  if (random.oneIn(4)) return malformedPart(random, target);
  const content = Array.from({ length: random.below(300) }, () => random.below(256));
  const text = Buffer.from(content).toString("latin1");
  const made = random.pick(BODIES)(text, random);
  const { type = TYPE } = made;
  const headers = [...goodHeaders(target)];
  if (type !== "") headers.push(["Content-Type", type]);
  const parts = { method: "POST", target: "/api/v4/attachments/upload", headers };
  const body = Buffer.from(made.body, "latin1");
  const whole = answered({ ...parts, operation: "upload_attachment", body });
  if (!random.oneIn(6)) return whole;
  // Cut off in the middle of what was announced, by its length or in chunks.
  const file = Buffer.from(part(FILE, text) + END, "latin1");
  const cut = file.subarray(0, random.below(file.length));
  const length = requestBytes({ ...parts, headers: [...headers, contentLength(file.length)] });
  const ending = random.oneIn(2) ? "leave" : "end";
  return { ...whole, pieces: [length, cut], ending, answers: 0 };
}
