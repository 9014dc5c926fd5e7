/**
 * The room for answers that their clients have not taken yet.
 */

import { expect, test } from "vitest";
import { AnswerRoom } from "../../src/http/answer-room.ts";

test("what is taken is given back, and what does not fit takes nothing", () => {
  const room = new AnswerRoom(100);
  expect(room.take(60)).toBe(true);
  expect(room.take(41)).toBe(false);
  expect(room.take(40)).toBe(true);
  expect(room.take(1)).toBe(false);
  room.give(60);
  expect(room.take(60)).toBe(true);
});
