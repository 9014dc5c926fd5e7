/**
 * Parser of .http files: a file of calls with their expected answers.
 *
 * A file consists of blocks with empty lines between them. A block of comments alone is for the
 * reader. Every other block is one call:
 *
 *   # the rule, in a sentence
 *   POST /api/v4/store/count
 *   X-SERVICE-TXN-ID: 7                     headers of the request, if any
 *   -F file=@attachment.txt                 options for curl, if any
 *   {"collection":"cars","query":"true"}    the body, if any, up to the arrow
 *   => 200                                  or: => 200 within 20 s, which repeats the call
 *   Content-Type: application/json          headers that the answer must have, if any
 *   {"count":3,"txnId":"<int>"}             the whole body of the answer, if any
 */

const REQUEST_LINE = /^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) (\S+)$/;
const ARROW = /^=> (\d{3})(?: within (\d+) s)?$/;
const HEADER = /^([A-Za-z][A-Za-z0-9-]*):(.*)$/;

/** Returns the calls of a file, in order. `name` is for messages. */
export function parseCases(text, name) {
  const cases = [];
  let block = [];
  for (const [index, line] of [...text.split("\n"), ""].entries()) {
    if (line.trim() !== "") {
      block.push({ line, place: `${name}:${index + 1}` });
      continue;
    }
    if (block.some((entry) => !entry.line.startsWith("#"))) cases.push(parseCase(block));
    block = [];
  }
  return cases;
}

function parseCase(block) {
  const start = block.findIndex(({ line }) => !line.startsWith("#"));
  const { line: requestLine, place } = block[start];
  const title = block.slice(0, start).map(({ line }) => line.slice(1).trim());
  if (title.length === 0) throw new Error(`${place}: expected a comment that says the rule`);
  const request = REQUEST_LINE.exec(requestLine);
  if (request === null) throw new Error(`${place}: expected METHOD /path, found ${requestLine}`);
  const arrow = block.findIndex(({ line }) => ARROW.test(line));
  if (arrow < 0) throw new Error(`${place}: expected a line => STATUS in the block`);
  const [, method, target] = request;
  const [, status, seconds = "0"] = ARROW.exec(block[arrow].line);
  return {
    place,
    title: title.join(" "),
    request: { method, target, ...splitPart(block.slice(start + 1, arrow)) },
    expected: {
      status: Number(status),
      seconds: Number(seconds),
      ...splitPart(block.slice(arrow + 1)),
    },
  };
}

/** Headers and options come first. The body begins with the first other line. */
function splitPart(entries) {
  const lines = entries.map(({ line }) => line);
  const headers = [];
  const options = [];
  while (lines.length > 0) {
    const header = HEADER.exec(lines[0]);
    if (header !== null) headers.push({ name: header[1], value: header[2].trim() });
    else if (lines[0].startsWith("-")) options.push(lines[0]);
    else break;
    lines.shift();
  }
  return { headers, options, body: lines.join("\n") };
}
