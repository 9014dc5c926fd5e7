/**
 * Settings: the table of system parameters, and SHOW and ALTER SYSTEM over it.
 */
import { PeerError, type Value } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import { locate } from "../../../src/query/fault.ts";
import { runAlterSystem, runShow } from "../../../src/query/statement/setting.ts";
import type {
  AlterSystemStatement,
  LiteralNode,
  ShowStatement,
} from "../../../src/query/syntax/tree.ts";
import { PARAMETERS, Settings } from "../../../src/query/system/settings.ts";
import { type Datum, toFloat } from "../../../src/query/value/datum.ts";

function refusalOf(work: () => unknown): PeerError {
  try {
    work();
  } catch (error) {
    const located = locate(error, "ALTER SYSTEM SET x = 1");
    if (located instanceof PeerError) return located;
    throw error;
  }
  throw new Error("expected a refusal");
}

function show(name?: string, rest: Partial<ShowStatement> = {}): ShowStatement {
  return { kind: "show", at: 0, ...(name === undefined ? {} : { name }), ...rest };
}

function alter(name: string | undefined, isSet: boolean): AlterSystemStatement {
  // The value is evaluated by the caller: the node says only that there is one, and where.
  const value: LiteralNode = { kind: "literal", value: null, at: 21 };
  return {
    kind: "alter_system",
    at: 0,
    ...(name === undefined ? {} : { name }),
    ...(isSet ? { value } : {}),
  };
}

describe("the table", () => {
  test("names are in lower case, in order, and unique", () => {
    const names = PARAMETERS.map(({ name }) => name);
    expect(names).toEqual([...new Set(names.map((name) => name.toLowerCase()))].sort());
  });

  test.each(PARAMETERS)("the default of $name is a value that could be set", (parameter) => {
    const settings = new Settings();
    settings.set(parameter.name, parameter.initial);
    expect(settings.get(parameter.name)).toEqual(parameter.initial);
  });

  test("a number has limits", () => {
    const numbers = PARAMETERS.filter(({ type }) => type === "integer" || type === "number");
    for (const { min, max } of numbers)
      expect([typeof min, typeof max]).toEqual(["number", "number"]);
  });
});

describe("reading", () => {
  test("a name is found in any letter case and shown in lower case", () => {
    expect(new Settings().show("DQL_Strict_Mode")).toEqual({ dql_strict_mode: false });
  });

  test("the engine reads the defaults of the language", () => {
    const settings = new Settings();
    expect(settings).toMatchObject({
      isStrict: false,
      requestTimeoutMs: undefined,
      slowRequestMs: 1000,
      historySize: 4096,
      historyQualifiers: {},
      documentSizeSoftLimit: 262_144,
      documentSizeHardLimit: 5_242_880,
    });
  });

  test("the engine reads the values that were set", () => {
    const settings = new Settings();
    settings.set("dql_strict_mode", true);
    settings.set("dql_request_timeout_seconds", 1.5);
    settings.set("dql_slow_request_warn_seconds", 0);
    settings.set("dql_request_history_size", 7);
    expect(settings).toMatchObject({
      isStrict: true,
      requestTimeoutMs: 1500,
      slowRequestMs: undefined,
      historySize: 7,
    });
  });

  test("only parameters that were set and not reset count as changed", () => {
    const settings = new Settings();
    settings.set("DQL_STRICT_MODE", true);
    settings.set("tombstone_ttl_hours", 5);
    settings.reset("TOMBSTONE_TTL_HOURS");
    expect([...settings.changed()]).toEqual([["dql_strict_mode", true]]);
  });

  test("a host may have its own defaults, and a reset returns to them", () => {
    const settings = new Settings({ DQL_STRICT_MODE: true });
    expect(settings.isStrict).toBe(true);
    settings.set("dql_strict_mode", false);
    expect(settings.isStrict).toBe(false);
    settings.reset();
    expect(settings.isStrict).toBe(true);
  });

  test("a default of the host must be valid as well", () => {
    expect(refusalOf(() => new Settings({ dql_strict_mode: 1 })).code).toBe("query.parameter");
  });
});

describe("an invalid value is refused and changes nothing", () => {
  test.each<[name: string, datum: Datum, message: string]>([
    ["dql_strict_mode", "true", "parameter 'dql_strict_mode' is a boolean, found text"],
    ["dql_strict_mode", 1, "parameter 'dql_strict_mode' is a boolean, found an integer"],
    ["dql_strict_mode", undefined, "parameter 'dql_strict_mode' is a boolean, found nothing"],
    [
      "dql_request_history_size",
      1.5,
      "parameter 'dql_request_history_size' is an integer, found a float",
    ],
    [
      "dql_request_history_size",
      toFloat(5),
      "parameter 'dql_request_history_size' is an integer, found a float",
    ],
    [
      "dql_request_history_size",
      -1,
      "parameter 'dql_request_history_size' must be from 0 to 100000, found -1",
    ],
    [
      "dql_request_history_size",
      2n ** 60n,
      "parameter 'dql_request_history_size' must be from 0 to 100000, found 1152921504606846976",
    ],
    [
      "dql_request_timeout_seconds",
      Number.NaN,
      "parameter 'dql_request_timeout_seconds' must be from 0 to 86400, found NaN",
    ],
    ["tombstone_ttl_hours", 0, "parameter 'tombstone_ttl_hours' must be from 1 to 878400, found 0"],
    [
      "dql_default_directives",
      [],
      "parameter 'dql_default_directives' is an object, found an array",
    ],
    [
      "dql_request_history_qualifiers",
      { elapsed: 1 },
      "parameter 'dql_request_history_qualifiers' has no qualifier 'elapsed'; did you mean elapsed_ms?",
    ],
    [
      "dql_request_history_qualifiers",
      { failed: 1 },
      "parameter 'dql_request_history_qualifiers' needs a boolean for failed",
    ],
    [
      "user_collection_sync_scopes",
      { cars: "Nobody" },
      "parameter 'user_collection_sync_scopes' needs one of AllPeers, BigPeerOnly, SmallPeersOnly, LocalPeerOnly for 'cars'",
    ],
    [
      "user_collection_sync_scopes",
      { __x: "AllPeers" },
      "parameter 'user_collection_sync_scopes' cannot hold '__x': it is internal",
    ],
  ])("%s", (name, datum, message) => {
    const settings = new Settings();
    const before = settings.get(name);
    const refusal = refusalOf(() => settings.set(name, datum));
    expect(refusal).toMatchObject({ code: "query.parameter", message });
    expect(settings.get(name)).toEqual(before);
  });

  test("an object of any size is not kept", () => {
    const large = { "#note": "x".repeat(70_000) };
    expect(refusalOf(() => new Settings().set("dql_default_directives", large)).message).toContain(
      "must be at most 65536 characters of JSON",
    );
  });

  test("a whole float is accepted where a number is expected", () => {
    const settings = new Settings();
    settings.set("dql_request_timeout_seconds", toFloat(2));
    expect(settings.get("dql_request_timeout_seconds")).toBe(2);
  });

  test("an unknown name gets an error with the nearest known one, if there is one", () => {
    const settings = new Settings();
    expect(refusalOf(() => settings.get("DQL_STRICT_MOD"))).toMatchObject({
      code: "query.parameter",
      message: "unknown parameter 'DQL_STRICT_MOD'; did you mean dql_strict_mode?",
    });
    expect(refusalOf(() => settings.get("nope")).message).toBe("unknown parameter 'nope'");
  });

  test("a very long name is quoted in part", () => {
    const { message } = refusalOf(() => new Settings().get("x".repeat(100_000)));
    expect(message.length).toBeLessThan(120);
  });
});

describe("SHOW", () => {
  test("one parameter is one row", () => {
    expect(runShow(show("DQL_STRICT_MODE"), new Settings())).toEqual([{ dql_strict_mode: false }]);
  });

  test("ALL is one row with every parameter", () => {
    const [row] = runShow(show(), new Settings());
    expect(Object.keys(row ?? {})).toEqual(PARAMETERS.map(({ name }) => name));
  });

  test.each([
    ["like", "%strict!_m%", ["dql_strict_mode"]],
    ["like", "%STRICT!_M%", undefined],
    ["ilike", "%STRICT!_M%", ["dql_strict_mode"]],
    ["ilike", "tombstone!_ttl!_%", ["tombstone_ttl_enabled", "tombstone_ttl_hours"]],
  ] as const)("ALL %s %s selects by name", (operator, pattern, names) => {
    const statement = show(undefined, { pattern: { operator, pattern, escape: "!" } });
    const rows = runShow(statement, new Settings());
    expect(rows.map((row) => Object.keys(row))).toEqual(names === undefined ? [] : [names]);
  });

  test("ESCAPE takes one character", () => {
    const pattern = { operator: "like", pattern: "%", escape: "ab" } as const;
    const refusal = refusalOf(() => runShow(show(undefined, { pattern }), new Settings()));
    expect(refusal.code).toBe("query.semantic");
  });

  test("a pattern that ends in its escape selects nothing", () => {
    const pattern = { operator: "like", pattern: "%!", escape: "!" } as const;
    expect(runShow(show(undefined, { pattern }), new Settings())).toEqual([]);
  });

  test.each(["COLLECTIONS", "TABLES", "DATABASES"])("%s is not a parameter", (name) => {
    expect(refusalOf(() => runShow(show(name), new Settings())).code).toBe("query.parameter");
  });
});

describe("ALTER SYSTEM", () => {
  function run(settings: Settings, name: string | undefined, ...value: Datum[]): readonly Value[] {
    return runAlterSystem(alter(name, value.length > 0), value[0], settings);
  }

  test("SET answers with the new value", () => {
    const settings = new Settings();
    expect(run(settings, "Dql_Strict_Mode", true)).toEqual([{ dql_strict_mode: true }]);
    expect(settings.isStrict).toBe(true);
  });

  test("RESET and SET … DEFAULT answer with the default", () => {
    const settings = new Settings();
    settings.set("dql_strict_mode", true);
    expect(run(settings, "DQL_STRICT_MODE")).toEqual([{ dql_strict_mode: false }]);
  });

  test("RESET ALL restores every default and shows all", () => {
    const settings = new Settings();
    settings.set("dql_strict_mode", true);
    settings.set("tombstone_ttl_hours", 5);
    expect(run(settings, undefined)).toEqual([new Settings().all()]);
    expect(settings.changed().size).toBe(0);
  });

  test.each([null, undefined])("%s is not a value: the statement is at fault", (value) => {
    expect(refusalOf(() => run(new Settings(), "dql_strict_mode", value)).code).toBe(
      "query.semantic",
    );
  });

  test("an unknown name is refused before its value is checked", () => {
    expect(refusalOf(() => run(new Settings(), "nope", null)).code).toBe("query.parameter");
    expect(refusalOf(() => run(new Settings(), "nope")).code).toBe("query.parameter");
  });

  test("an error has the place of the value if it is invalid, else of the statement", () => {
    const unfit = refusalOf(() => run(new Settings(), "dql_strict_mode", "true"));
    expect(unfit.place).toMatchObject({ line: 1, column: 22 });
    const unknown = refusalOf(() => run(new Settings(), "nope", 1));
    expect(unknown.place).toMatchObject({ line: 1, column: 1 });
  });
});
