/**
 * Endings: answers whose content is written, and that end with the turn in which it was.
 *
 * Given to `end`, the content would go to the socket in two pieces, the second of them empty, by a
 * call that is made for many pieces. Given to `write` it goes in one, before its end is said: a tenth
 * of what a request costs a server that does nothing else.
 */

import type { ServerResponse } from "node:http";
import type { TextContent } from "./answer.ts";

let waiting: ServerResponse[] = [];

/** Sends a short text as all there is. */
export function endWith({ text, size }: TextContent, response: ServerResponse): void {
  // With as many bytes as characters it is ASCII, which needs no encoding.
  response.write(text, size === text.length ? "latin1" : "utf8");
  if (waiting.length === 0) process.nextTick(endSoon);
  waiting.push(response);
}

/**
 * After the sockets. For each `write` one has its turn, and those of a commit are answered together:
 * all of these turns are asked for by now, and come before one that is asked for now.
 */
function endSoon(): void {
  process.nextTick(endAll);
}

function endAll(): void {
  const responses = waiting;
  waiting = [];
  for (const response of responses) response.end();
}
