/**
 * The uploads of a server session, from the peer to the store and back.
 */

import { expect, test } from "vitest";
import type { SessionState, UploadSequence } from "../../../src/sync/session/session-state.ts";
import {
  answered,
  byeOf,
  EMPTY,
  OPEN,
  OTHER_SITE,
  run,
  SITE,
  say,
  sent,
  takenAs,
  uploadOf,
  wordsOf,
} from "../../support/session-steps.ts";

function line(state: SessionState): UploadSequence {
  if (state.phase !== "open") throw new Error(`expected an open session, found ${state.phase}`);
  return state.uploads;
}

test("[S25] uploads are passed on in order, without waiting for each other", () => {
  const first = run(EMPTY, say(uploadOf(6)));
  const second = run(first.state, say(uploadOf(7)));
  for (const [number, step] of [
    [6, first],
    [7, second],
  ] as const) {
    const { digest, steps } = uploadOf(number);
    const upload = { site: SITE, number, digest, steps };
    expect(step.actions).toEqual([{ kind: "upload", upload }]);
  }
  expect(line(second.state)).toEqual({ site: SITE, next: 8, inFlight: 2, ignored: "none" });
});

test("[S25] an earlier upload may be sent again", () => {
  const step = run(EMPTY, say(uploadOf(3)));
  expect(wordsOf(step)).toBe("upload");
  expect(line(step.state).next).toBe(6);
});

test("[S26] the site is the one of the session", () => {
  const message = { ...uploadOf(6), site: OTHER_SITE };
  const step = run(EMPTY, say(message));
  expect(step.actions).toMatchObject([{ kind: "upload", upload: { site: SITE } }]);
});

test.each(["applied", "refused", "stale"] as const)("[S27] %s is an outcome", (kind) => {
  const step = run(OPEN, answered(6, takenAs(kind, 42)));
  const documents = [{ collection: "cars", id: "a" }];
  expect(step.actions).toEqual([
    { kind: "outcome", outcome: { site: SITE, number: 6, kind, txn: 42, reason: "", documents } },
  ]);
  expect(line(step.state).inFlight).toBe(0);
});

test("[S29] a fork is reported once, and later uploads are ignored until another site", () => {
  const two = run(OPEN, say(uploadOf(7)));
  const forked = run(two.state, answered(6, { kind: "forked" }));
  expect(sent(forked)).toEqual([{ t: "forked", site: SITE, number: 6 }]);
  const behind = run(forked.state, answered(7, { kind: "unknown_site", known: 5 }));
  expect(behind.actions).toEqual([]);
  expect(run(behind.state, say(uploadOf(8))).actions).toEqual([]);
  const renamed = run(behind.state, say({ t: "site", site: OTHER_SITE }), {
    kind: "identified",
    site: OTHER_SITE,
    known: 0,
  });
  const first = run(renamed.state, say(uploadOf(1)));
  expect(first.actions).toMatchObject([{ kind: "upload", upload: { site: OTHER_SITE } }]);
});

test("[S29] answers to uploads behind a fork are not sent after the peer has named another site", () => {
  const two = run(OPEN, say(uploadOf(7)));
  const renamed = run(
    two.state,
    answered(6, { kind: "forked" }),
    say({ t: "site", site: OTHER_SITE }),
    { kind: "identified", site: OTHER_SITE, known: 0 },
  );
  for (const answer of [{ kind: "forked" }, { kind: "unknown_site", known: 5 }] as const) {
    const step = run(renamed.state, answered(7, answer));
    expect(step.actions).toEqual([]);
    expect(line(step.state).inFlight).toBe(0);
  }
});

test("[S29] a second fork of the same sequence is not reported", () => {
  const two = run(OPEN, say(uploadOf(7)));
  const forked = run(two.state, answered(6, { kind: "forked" }));
  expect(run(forked.state, answered(7, { kind: "forked" })).actions).toEqual([]);
});

test("[S31] the answer to `site` is the known number of that site", () => {
  const asked = run(OPEN, say({ t: "site", site: OTHER_SITE }));
  expect(asked.actions).toEqual([{ kind: "identify", site: OTHER_SITE }]);
  const step = run(asked.state, { kind: "identified", site: OTHER_SITE, known: 2 });
  expect(sent(step)).toEqual([{ t: "site", site: OTHER_SITE, known: 2 }]);
  // What is under way of the former one still has its outcome, and still counts.
  expect(line(step.state)).toEqual({ site: OTHER_SITE, next: 3, inFlight: 1, ignored: "none" });
  expect(wordsOf(run(step.state, answered(6, takenAs("applied", 42))))).toBe("outcome");
});

test("[S32] more uploads without an outcome than allowed are malformed", () => {
  const full = run(OPEN, say(uploadOf(7)), say(uploadOf(8)));
  expect(byeOf(run(full.state, say(uploadOf(9))))?.code).toBe("malformed");
  const settled = run(full.state, answered(6, takenAs("applied", 42)));
  expect(wordsOf(run(settled.state, say(uploadOf(9))))).toBe("upload");
});

test("[S32] a number that does not continue is answered once, until one does", () => {
  const gap = run(EMPTY, say(uploadOf(8)));
  expect(sent(gap)).toEqual([{ t: "site", site: SITE, known: 5 }]);
  const more = run(gap.state, say(uploadOf(9)));
  expect(more.actions).toEqual([]);
  const back = run(more.state, say(uploadOf(6)), say(uploadOf(7)));
  expect(wordsOf(back)).toBe("upload");
  expect(wordsOf(run(back.state, say(uploadOf(12))))).toBe("site");
});

test("[S32] so is a number that the store finds not to continue", () => {
  const step = run(OPEN, answered(6, { kind: "unknown_site", known: 3 }));
  expect(sent(step)).toEqual([{ t: "site", site: SITE, known: 3 }]);
  expect(run(step.state, say(uploadOf(7))).actions).toEqual([]);
  expect(wordsOf(run(step.state, say(uploadOf(4))))).toBe("upload");
});

test("an upload ahead of the server's clock is stamped again under another site", () => {
  const failed = { kind: "upload_failed", site: SITE, number: 6 } as const;
  const step = run(OPEN, { ...failed, code: "clock.ahead" });
  expect(sent(step)).toEqual([
    { t: "forked", site: SITE, number: 6 },
    {
      t: "bye",
      code: "busy",
      message: "the upload is ahead of the server's clock",
      after: 1000,
    },
  ]);
});

test.each([
  ["store.full", "busy"],
  ["store.busy", "busy"],
  ["", "busy"],
  ["store.closed", "closing"],
  ["operation.invalid", "malformed"],
])("an upload that fails with %j ends the session as %s: it may be sent again", (code, bye) => {
  const step = run(OPEN, { kind: "upload_failed", site: SITE, number: 6, code });
  expect(byeOf(step)?.code).toBe(bye);
});
