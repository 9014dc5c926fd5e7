/**
 * What peers may see and what they ask for, each as text for the engine and as a plain function for
 * the judge of the run, who shares no code with the engine.
 */

import type { ValueObject } from "@bigpeer/protocol";
import { type Permissions, readPermissions } from "../../src/query/permission/permissions.ts";
import type { Random } from "../support/test-platform.ts";

export type Test = (fields: ValueObject) => boolean;

export interface Rule {
  readonly text: string;
  readonly test: Test;
}

export const OWNERS = ["ann", "bob", "cleo"];
export const TEAMS = ["red", "blue"];

/** Everybody counts here: never deleted, never hidden, only incremented. */
export const TALLY = "tally";
export const NOTES = "notes";
/** No credential but the full ones has a rule for it. */
export const PRIVATE = "private";

export const EVERYTHING: Rule = { text: "true", test: () => true };

function numberOf(fields: ValueObject, name: string): number | undefined {
  const value = fields[name];
  return typeof value === "number" ? value : undefined;
}

function levelUpTo(most: number): Rule {
  return {
    text: `level <= ${most}`,
    test: (fields) => (numberOf(fields, "level") ?? Number.POSITIVE_INFINITY) <= most,
  };
}

function ownedBy(owner: string): Rule {
  return { text: `owner == '${owner}'`, test: (fields) => fields["owner"] === owner };
}

function teamAbove(team: string, least: number): Rule {
  return {
    text: `team == '${team}' && level > ${least}`,
    test: (fields) => fields["team"] === team && (numberOf(fields, "level") ?? -1) > least,
  };
}

/** What a credential may do: the permissions of the engine, and what they mean. */
export interface Rights {
  readonly permissions: Permissions;
  mayRead(collection: string, fields: ValueObject): boolean;
  readonly text: string;
}

function anyOf(rules: readonly Rule[]): Test {
  return (fields) => rules.some(({ test }) => test(fields));
}

export const FULL_RIGHTS: Rights = rightsOf(undefined, undefined);

/** Undefined for everything. */
function rightsOf(read: readonly Rule[] | undefined, write: readonly Rule[] | undefined): Rights {
  const part = (rules: readonly Rule[] | undefined): ValueObject =>
    rules === undefined
      ? { everything: true }
      : {
          queriesByCollection: {
            ...(rules.length > 0 && { [NOTES]: rules.map(({ text }) => text) }),
            [TALLY]: ["true"],
          },
        };
  const value = { read: part(read), write: part(write) };
  const test = read === undefined ? undefined : anyOf(read);
  return {
    permissions: readPermissions(value),
    text: JSON.stringify(value),
    mayRead: (collection, fields) => {
      if (test === undefined || collection === TALLY) return true;
      return collection === NOTES && test(fields);
    },
  };
}

export function randomRule(random: Random): Rule {
  switch (random.below(4)) {
    case 0:
      return levelUpTo(random.below(5));
    case 1:
      return teamAbove(random.pick(TEAMS), random.below(3));
    case 2:
      return EVERYTHING;
    default:
      return ownedBy(random.pick(OWNERS));
  }
}

function randomRules(random: Random): Rule[] {
  if (random.chance(0.05)) return [];
  const rules = [randomRule(random)];
  if (random.chance(0.4)) rules.push(randomRule(random));
  return rules;
}

export function randomRights(random: Random): Rights {
  if (random.chance(0.15)) return FULL_RIGHTS;
  const read = randomRules(random);
  return rightsOf(read, random.chance(0.5) ? read : randomRules(random));
}

/** A subscription, and what it selects. */
export interface Wish {
  readonly query: string;
  readonly args: ValueObject;
  readonly collection: string;
  readonly test: Test;
  readonly key: string;
}

function wish(collection: string, condition: string, args: ValueObject, test: Test): Wish {
  const where = condition === "" ? "" : ` WHERE ${condition}`;
  const query = `SELECT * FROM ${collection}${where}`;
  return { query, args, collection, test, key: JSON.stringify([query, args]) };
}

/** The same in another text: another subscription with the same filter. */
export function twinOf({ query, args, collection, test }: Wish): Wish {
  const isPlain = query.startsWith("SELECT * ");
  const other = query.replace(/SELECT +\*/, isPlain ? "SELECT  *" : "SELECT *");
  return { query: other, args, collection, test, key: JSON.stringify([other, args]) };
}

export const TALLY_WISH: Wish = wish(TALLY, "", {}, () => true);

/** One that nobody has had before, as good as always: so it is filled. */
export function freshWish(random: Random): Wish {
  const low = -1 - random.below(1_000_000);
  return wish(NOTES, "level >= :low", { low }, (f) => (numberOf(f, "level") ?? low - 1) >= low);
}

export function randomWish(random: Random): Wish {
  const level = random.below(5);
  const owner = random.pick(OWNERS);
  const team = random.pick(TEAMS);
  switch (random.below(8)) {
    case 0:
      return wish(NOTES, "", {}, () => true);
    case 1:
      return wish(
        NOTES,
        "level >= :low AND level < :high",
        { low: level, high: level + 2 },
        (f) => {
          const found = numberOf(f, "level") ?? -1;
          return found >= level && found < level + 2;
        },
      );
    case 2:
      return wish(NOTES, "team = :team", { team }, (f) => f["team"] === team);
    case 3:
      return wish(NOTES, "owner = :owner OR level = :level", { owner, level }, (f) => {
        return f["owner"] === owner || f["level"] === level;
      });
    case 4:
      return random.chance(0.5)
        ? wish(NOTES, "level IS MISSING", {}, (f) => f["level"] === undefined)
        : wish(PRIVATE, "", {}, () => true);
    default:
      return wish(NOTES, "owner = :owner", { owner }, (f) => f["owner"] === owner);
  }
}
