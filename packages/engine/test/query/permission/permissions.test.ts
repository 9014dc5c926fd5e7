/**
 * Permissions as they come from outside: what is read, what is refused and where.
 */

import { PeerError } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import { PERMISSION_LENGTH_MAX } from "../../../src/limits.ts";
import { Budget } from "../../../src/query/frame/budget.ts";
import type { Run } from "../../../src/query/frame/frame.ts";
import { FUNCTIONS } from "../../../src/query/functions/table.ts";
import { Authority } from "../../../src/query/permission/authority.ts";
import { checkFilter } from "../../../src/query/permission/filter-check.ts";
import { UNSTEADY_FUNCTIONS } from "../../../src/query/permission/permission-filter.ts";
import {
  FULL_PERMISSIONS,
  permissionsValue,
  readPermissions,
} from "../../../src/query/permission/permissions.ts";
import type { Datum } from "../../../src/query/value/datum.ts";
import { testPlatform } from "../../support/test-platform.ts";

function refusal(value: unknown): PeerError {
  try {
    readPermissions(value);
  } catch (error) {
    if (error instanceof PeerError) return error;
    throw error;
  }
  throw new Error("expected a refusal");
}

const NOTHING = { everything: false, queriesByCollection: {} };

describe("permissions", () => {
  test("[P1] absent entries allow nothing", () => {
    expect(readPermissions({})).toEqual({ read: NOTHING, write: NOTHING, remoteQuery: false });
    expect(readPermissions({ read: {}, qlVersion: 1 }).read).toEqual(NOTHING);
    const absent = { qlVersion: null, remoteQuery: null, read: null, write: null };
    expect(readPermissions(absent)).toEqual(readPermissions({}));
    const rule = { everything: null, queriesByCollection: null };
    expect(readPermissions({ read: rule })).toEqual(readPermissions({}));
  });

  test("[P1] both versions of the language use the same grammar", () => {
    const read = { everything: false, queriesByCollection: { cars: ["a == 1 && b = 2", "true"] } };
    for (const qlVersion of [0, 1]) {
      expect(readPermissions({ qlVersion, read }).read).toEqual(read);
    }
  });

  test("are written back as they were read", () => {
    const queriesByCollection = { b: ["true"], a: ["x == 1", "y == 2"], ["__proto__"]: ["z == 3"] };
    const value = {
      remoteQuery: true,
      read: { everything: false, queriesByCollection },
      write: { everything: true, queriesByCollection: {} },
    };
    const permissions = readPermissions(value);
    expect(permissionsValue(permissions)).toEqual(value);
    expect(readPermissions(permissionsValue(permissions))).toEqual(permissions);
    expect(readPermissions(permissionsValue(FULL_PERMISSIONS))).toEqual(FULL_PERMISSIONS);
  });

  test.each([
    ["text", "value.invalid", "permissions"],
    [{ reed: {} }, "value.invalid", "permissions.reed"],
    [{ qlVersion: 2 }, "value.invalid", "permissions.qlVersion"],
    [{ remoteQuery: "yes" }, "value.invalid", "permissions.remoteQuery"],
    [{ read: true }, "value.invalid", "permissions.read"],
    [{ read: { everything: 1 } }, "value.invalid", "permissions.read.everything"],
    [{ write: { all: true } }, "value.invalid", "permissions.write.all"],
    [
      { read: { queriesByCollection: [] } },
      "value.invalid",
      "permissions.read.queriesByCollection",
    ],
    [
      { read: { queriesByCollection: { cars: "true" } } },
      "value.invalid",
      "permissions.read.queriesByCollection.cars",
    ],
    [
      { write: { everything: true, queriesByCollection: { cars: ["true", 1] } } },
      "value.invalid",
      "permissions.write.queriesByCollection.cars[1]",
    ],
  ])("[P1] %j is refused with its place", (value, code, at) => {
    const error = refusal(value);
    expect([error.code, error.at]).toEqual([code, at]);
  });

  test("are limited in length", () => {
    const query = `a == '${"x".repeat(PERMISSION_LENGTH_MAX)}'`;
    const error = refusal({ read: { queriesByCollection: { cars: [query] } } });
    expect([error.code, error.at]).toEqual(["value.invalid", "permissions"]);
  });

  test("[P20] a caller with remoteQuery that reads everything may query other peers", () => {
    const mayAsk = (value: unknown): boolean =>
      new Authority(readPermissions(value), "x").mayAskPeers;
    const read = { everything: true };
    expect(mayAsk({ read, remoteQuery: true })).toBe(true);
    expect(mayAsk({ read, remoteQuery: false })).toBe(false);
    expect(mayAsk({ remoteQuery: true, write: read })).toBe(false);
  });
});

describe("queries of permissions", () => {
  test.each([
    ["a ==", "query.syntax", "line 1, column 5 (the end)"],
    ["a == :x", "query.semantic", "line 1, column 6, near `:x`"],
    ["a == $args.x", "query.semantic", "line 1, column 6, near `$args.x`"],
    ["t < clock()", "query.semantic", "line 1, column 5, near `clock()`"],
    ["a = 1 OR request_info().app_id = 'x'", "query.semantic", "line 1, column 10"],
    ["a = uuid()", "query.semantic", "line 1, column 5, near `uuid()`"],
    ["t < now()", "query.semantic", "line 1, column 5, near `now()`"],
    ["nosuch(a)", "query.semantic", "line 1, column 1, near `nosuch(a)`"],
    ["count(*) > 1", "query.semantic", "line 1, column 1, near `count(*) > 1`"],
  ])("[P2] %s is refused with its place", (query, code, place) => {
    const error = refusal({ read: { queriesByCollection: { cars: ["true", query] } } });
    const at = `permissions.read.queriesByCollection.cars[1], ${place}`;
    expect(error.code).toBe(code);
    expect(error.at?.slice(0, at.length)).toBe(at);
    expect(() => checkFilter(query, "here")).toThrow(/ at here, line 1/);
  });

  test("[P2] no function reads the request or the clock, except the refused ones", () => {
    const forbidden = new Error("expected the arguments alone");
    const fail = (): never => {
      throw forbidden;
    };
    const platform = { ...testPlatform(), now: fail, random: fail, sha256: fail };
    const budget = new Budget({ elapsed: () => 0, timeMsMax: 1000, bytesMax: 2 ** 30 });
    const run = { args: {}, platform, budget } as unknown as Run;
    Object.defineProperty(run, "request", { get: fail });
    const values: Datum[] = [1, "2020-01-01T00:00:00Z", "day", [1, 2], { a: 1 }, "a", true, null];
    const touching = new Set<string>();
    for (const { name, arity, apply } of FUNCTIONS.values()) {
      for (let shift = 0; shift < values.length; shift++) {
        for (let count = arity[0]; count <= Math.min(arity[1], 4); count++) {
          const args = Array.from({ length: count }, (_, i) => values[(i + shift) % values.length]);
          try {
            apply(args, run);
          } catch (error) {
            if (error === forbidden) touching.add(name);
          }
        }
      }
    }
    expect([...touching].sort()).toEqual([...UNSTEADY_FUNCTIONS].sort());
  });
});
