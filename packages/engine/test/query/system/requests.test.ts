/**
 * Requests: what runs now, what ran before, and how much of it is remembered.
 */
import { PeerError } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import { Budget } from "../../../src/query/frame/budget.ts";
import {
  type ActiveRequest,
  HISTORY_BYTES_MAX,
  REQUEST_TEXT_MAX,
  Requests,
} from "../../../src/query/system/requests.ts";
import { Settings } from "../../../src/query/system/settings.ts";
import { uuidOf } from "../../../src/query/uuid.ts";
import type { StoredDocument } from "../../../src/store/view.ts";
import { START_MS, testPlatform } from "../../support/test-platform.ts";

interface Bench {
  readonly settings: Settings;
  readonly requests: Requests;
  readonly slow: StoredDocument[];
  /** The clock that never goes back. */
  elapsedMs: number;
  readonly begin: (text?: string) => ActiveRequest;
}

function bench(): Bench {
  const settings = new Settings();
  const slow: StoredDocument[] = [];
  const elapsed = (): number => result.elapsedMs;
  const platform = { ...testPlatform(), elapsed };
  const requests = new Requests({ platform, settings, onSlow: (row) => slow.push(row) });
  const result: Bench = {
    settings,
    requests,
    slow,
    elapsedMs: 1000,
    begin: (text = "SELECT * FROM c") => {
      const budget = new Budget({ elapsed, timeMsMax: 60_000, bytesMax: 1_000_000 });
      return requests.begin({ text, appId: "app", budget });
    },
  };
  return result;
}

function texts(rows: readonly StoredDocument[]): string[] {
  return rows.map(({ fields }) => fields["text"] as string);
}

describe("a running request", () => {
  test("is listed until it ends, and then remembered", () => {
    const { requests, begin } = bench();
    const request = begin();
    expect(texts(requests.activeRows())).toEqual(["SELECT * FROM c"]);
    expect(requests.historyRows()).toEqual([]);
    request.finish();
    expect(requests.activeRows()).toEqual([]);
    expect(texts(requests.historyRows())).toEqual(["SELECT * FROM c"]);
  });

  test("shows its state, its kind and its plan", () => {
    const { requests, begin } = bench();
    const request = begin();
    request.setState("running");
    request.setQueryType("select");
    request.setPlan(() => ({ "#operator": "scan" }));
    expect(requests.activeRows()).toEqual([
      {
        id: request.id,
        fields: {
          app_id: "app",
          text: "SELECT * FROM c",
          state: "running",
          queryType: "select",
          requestType: "execute",
          requestTime: START_MS,
          resultCount: 0,
          times: { elapsed: 0 },
          plan: { "#operator": "scan" },
        },
        types: { times: "register", plan: "register" },
      },
    ]);
  });

  test("shows how long it took in milliseconds, by phase", () => {
    const state = bench();
    const request = state.begin();
    state.elapsedMs += 1;
    request.setState("planning");
    state.elapsedMs += 2;
    request.setState("running");
    state.elapsedMs += 4.5;
    expect(request.row().fields["times"]).toEqual({
      elapsed: 7.5,
      parse: 1,
      plan: 2,
    });
    request.finish();
    state.elapsedMs += 100;
    expect(request.row().fields["times"]).toEqual({
      elapsed: 7.5,
      parse: 1,
      plan: 2,
      run: 4.5,
    });
  });

  test("is cancelled by its id at its next check of the budget", () => {
    const { requests, begin } = bench();
    const request = begin();
    expect(requests.cancel(request.id)).toBe(true);
    expect(() => request.budget.look()).toThrow("the request was cancelled");
    expect(requests.cancel("nobody")).toBe(false);
  });

  test("ends once: a second end changes nothing", () => {
    const { requests, begin } = bench();
    const request = begin();
    request.finish({ resultCount: 2 });
    request.finish({ resultCount: 5, error: new Error("late") });
    request.setState("running");
    expect(requests.historyRows().map(({ fields }) => fields)).toMatchObject([
      { state: "completed", resultCount: 2 },
    ]);
    expect(requests.totals).toEqual({ active: 0, completed: 1, failed: 0, remembered: 1 });
  });
});

describe("the end of a request", () => {
  const timeout = new PeerError("query.timeout", "took too long");

  test.each([
    ["completed", undefined, false],
    ["failed", new PeerError("query.semantic", "no such function"), false],
    ["timed_out", timeout, false],
    ["cancelled", timeout, true],
    ["failed", new PeerError("query.semantic", "failed before it saw that it was cancelled"), true],
    ["completed", undefined, true],
  ])("is %s", (state, error, isCancelled) => {
    const { requests, begin } = bench();
    const request = begin();
    if (isCancelled) requests.cancel(request.id);
    request.finish(error === undefined ? {} : { error });
    const [row] = requests.historyRows();
    expect(row?.fields["state"]).toBe(state);
    expect(row?.fields["error"]).toBe(error?.message);
  });

  test("is reported if it took longer than the setting allows", () => {
    const state = bench();
    const quick = state.begin("quick");
    state.elapsedMs += 999;
    quick.finish();
    const slow = state.begin("slow");
    state.elapsedMs += 1000;
    slow.finish();
    expect(texts(state.slow)).toEqual(["slow"]);
    state.settings.set("dql_slow_request_warn_seconds", 0);
    const unseen = state.begin("unseen");
    state.elapsedMs += 600_000;
    unseen.finish();
    expect(texts(state.slow)).toEqual(["slow"]);
  });

  test("is reported if its time limit stopped it, however short that was, once", () => {
    const state = bench();
    for (const seconds of [1, 0]) {
      state.settings.set("dql_slow_request_warn_seconds", seconds);
      const stopped = state.begin(`stopped ${seconds}`);
      state.elapsedMs += 10;
      stopped.finish({ error: new PeerError("query.timeout", "too long") });
    }
    const cancelled = state.begin("cancelled");
    state.requests.cancel(cancelled.id);
    cancelled.finish({ error: new PeerError("query.timeout", "the request was cancelled") });
    expect(texts(state.slow)).toEqual(["stopped 1", "stopped 0"]);
  });
});

describe("the history", () => {
  function finish(state: Bench, text: string, ms = 0, resultCount = 0): string {
    const request = state.begin(text);
    state.elapsedMs += ms;
    request.finish({ resultCount });
    return request.id;
  }

  test("keeps the newest requests, as many as the setting allows", () => {
    const state = bench();
    state.settings.set("dql_request_history_size", 3);
    for (let i = 0; i < 100; i++) finish(state, `s${i}`);
    expect(texts(state.requests.historyRows())).toEqual(["s97", "s98", "s99"]);
    expect(state.requests.totals).toMatchObject({ completed: 100, remembered: 3 });
  });

  test("mixes no request with an earlier one, and returned rows do not change", () => {
    const state = bench();
    state.settings.set("dql_request_history_size", 1);
    const failing = state.begin("first");
    failing.setQueryType("select");
    failing.setPlan(() => ({ "#operator": "scan" }));
    state.elapsedMs += 5000;
    failing.finish({ resultCount: 7, error: new Error("no") });
    const [first] = state.requests.historyRows();
    const before = structuredClone(first);
    for (const text of ["second", "third"]) finish(state, text);
    expect(first).toEqual(before);
    const [last] = state.requests.historyRows();
    const { app_id, requestType, requestTime } = before?.fields ?? {};
    const times = { elapsed: 0 };
    const same = { app_id, requestType, requestTime };
    expect(last?.fields).toEqual({
      ...same,
      text: "third",
      state: "completed",
      resultCount: 0,
      times,
      "~qualifier": "all",
    });
    expect(last?.id).not.toBe(first?.id);
  });

  test("shrinks at once when the setting does, and is empty at 0", () => {
    const state = bench();
    for (let i = 0; i < 10; i++) finish(state, `s${i}`);
    state.settings.set("dql_request_history_size", 2);
    expect(texts(state.requests.historyRows())).toEqual(["s8", "s9"]);
    state.settings.set("dql_request_history_size", 0);
    finish(state, "unseen");
    expect(state.requests.historyRows()).toEqual([]);
  });

  test("keeps only the start of a long text", () => {
    const state = bench();
    finish(state, "x".repeat(1_000_000));
    const [text] = texts(state.requests.historyRows());
    expect(text).toBe(`${"x".repeat(REQUEST_TEXT_MAX - 1)}…`);
  });

  test("never splits a character", () => {
    const state = bench();
    finish(state, `x${"😀".repeat(REQUEST_TEXT_MAX)}`);
    const [text] = texts(state.requests.historyRows());
    expect(text?.isWellFormed()).toBe(true);
  });

  test("is limited in bytes, whatever its length may be", () => {
    const state = bench();
    state.settings.set("dql_request_history_size", 100_000);
    for (let i = 0; i < 3000; i++) finish(state, `${i} ${"x".repeat(REQUEST_TEXT_MAX)}`);
    const rows = state.requests.historyRows();
    const length = texts(rows).join("").length;
    expect(2 * length).toBeLessThan(HISTORY_BYTES_MAX);
    expect(2 * length).toBeGreaterThan(HISTORY_BYTES_MAX / 2);
    expect(rows.at(-1)?.fields["text"]).toMatch(/^2999 /);
  });

  test("keeps the plan of a request only if the request took long", () => {
    const state = bench();
    for (const ms of [10, 5000]) {
      const request = state.begin(`${ms} ms`);
      request.setPlan(() => ({ "#operator": "scan" }));
      state.elapsedMs += ms;
      request.finish();
    }
    expect(state.requests.historyRows().map(({ fields }) => "plan" in fields)).toEqual([
      false,
      true,
    ]);
  });

  test("deletes requests by id and returns which were there", () => {
    const state = bench();
    const ids = ["a", "b", "c"].map((text) => finish(state, text));
    expect(state.requests.remove([ids[1] ?? "", "nobody"])).toEqual([ids[1]]);
    expect(texts(state.requests.historyRows())).toEqual(["a", "c"]);
    expect(state.requests.remove(ids)).toEqual([ids[0], ids[2]]);
    expect(state.requests.totals.remembered).toBe(0);
  });

  test("keeps everything without qualifiers", () => {
    const state = bench();
    finish(state, "quick");
    expect(state.requests.historyRows()[0]?.fields["~qualifier"]).toBe("all");
  });

  test("with qualifiers keeps a request if one of them holds, and names it", () => {
    const state = bench();
    const wanted = { elapsed_ms: 100, result_count: 10, failed: true };
    state.settings.set("dql_request_history_qualifiers", wanted);
    finish(state, "quick");
    finish(state, "slow", 100);
    finish(state, "large", 0, 10);
    state.begin("wrong").finish({ error: new Error("wrong") });
    const rows = state.requests.historyRows().map(({ fields }) => fields);
    expect(rows.map((fields) => [fields["text"], fields["~qualifier"]])).toEqual([
      ["slow", "elapsed_ms"],
      ["large", "result_count"],
      ["wrong", "failed"],
    ]);
  });
});

test("has unique ids, UUIDs of version 4", () => {
  const platform = testPlatform();
  const ids = Array.from({ length: 1000 }, () => uuidOf((size) => platform.random(size)));
  const shape = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  for (const id of ids) expect(id).toMatch(shape);
  expect(new Set(ids).size).toBe(ids.length);
  expect(uuidOf((size) => new Uint8Array(size).fill(255))).toBe(
    "ffffffff-ffff-4fff-bfff-ffffffffffff",
  );
});
