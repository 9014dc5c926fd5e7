/**
 * The statements that a run writes: few documents, so that writers meet; every kind of write; and a
 * name in each, by which it is found again on the wire and in the server.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import type { Random } from "../support/test-platform.ts";
import { NOTES, OWNERS, PRIVATE, TALLY, TEAMS } from "./sim-rules.ts";

export interface SimStatement {
  readonly statement: string;
  readonly args: ValueObject;
  /** What it adds to which counter that is only ever added to. */
  readonly counts?: { readonly id: string; readonly by: number };
  /** Told whether it writes anything, as soon as that is known and before it is durable. */
  readonly onDrafted?: (isWriting: boolean) => void;
}

export const TALLIES = ["t0", "t1"];
const IDS: readonly Value[] = ["n0", "n1", "n2", "n3", "n4", "n5", "n6", 7, 8, "n9"];

export function tallyInserts(): SimStatement[] {
  return TALLIES.map((id) => ({
    statement: `INSERT INTO ${TALLY} DOCUMENTS (:d)`,
    args: { d: { _id: id } },
  }));
}

/** Notes that hardly anybody writes to again: what is not sent of them is missed. */
export function stillInserts(random: Random): SimStatement[] {
  return ["s0", "s1", "s2", "s3", "s4", "s5"].map((id) => {
    const [owner, team] = [random.pick(OWNERS), random.pick(TEAMS)];
    const d = { _id: id, owner, team, level: random.below(6) };
    return { statement: `INSERT INTO ${NOTES} DOCUMENTS (:d)`, args: { d } };
  });
}

function randomNote(random: Random, tag: string, id: Value): ValueObject {
  const note: Record<string, Value> = {
    _id: id,
    owner: random.pick(OWNERS),
    tag,
    text: "x".repeat(random.chance(0.2) ? 1500 : random.below(60)),
  };
  if (random.chance(0.9)) note["level"] = random.below(6);
  if (random.chance(0.8)) note["team"] = random.pick(TEAMS);
  if (random.chance(0.4)) note["m"] = { x: random.below(4), [tag]: true };
  return note;
}

function insert(random: Random, tag: string): SimStatement {
  const args = { d: randomNote(random, tag, random.pick(IDS)) };
  const policy = random.pick(["DO UPDATE", "DO UPDATE", "DO NOTHING", "FAIL"]);
  return {
    statement: `INSERT INTO ${NOTES} DOCUMENTS (:d) ON ID CONFLICT ${policy}`,
    args,
  };
}

/** A seed is the same on every device: so it has no name. */
function initial(random: Random): SimStatement {
  const id = random.pick(["i0", "i1", "i2"]);
  const d = { _id: id, owner: "ann", level: id === "i2" ? 5 : 1, team: "red" };
  return { statement: `INSERT INTO ${NOTES} INITIAL DOCUMENTS (:d)`, args: { d } };
}

const CHANGES: readonly ((random: Random) => readonly [string, ValueObject])[] = [
  (random) => ["SET owner = :owner, tag = :tag", { owner: random.pick(OWNERS) }],
  (random) => ["SET level = :level, tag = :tag", { level: random.below(6) }],
  (random) => ["SET level = :level, tag = :tag", { level: random.below(6) }],
  (random) => ["SET team = :team, tag = :tag", { team: random.pick(TEAMS) }],
  (random) => ["SET m.x = :x, tag = :tag", { x: random.below(9) }],
  (random) => ["SET m = :m, tag = :tag", { m: { y: random.below(9), z: { w: 1 } } }],
  (random) => ["SET text = :text, tag = :tag", { text: "y".repeat(random.pick([10, 700, 2500])) }],
  () => ["SET tag = :tag UNSET level", {}],
  () => ["SET tag = :tag UNSET m.x", {}],
  () => ["SET tag = :tag UNSET m", {}],
  () => ["SET tag = :tag UNSET n", {}],
  (random) => ["APPLY n INCREMENT BY :by SET tag = :tag", { by: 1 + random.below(9) }],
  (random) => ["APPLY n INCREMENT BY :by SET tag = :tag", { by: -1 - random.below(3) }],
  (random) => ["APPLY n RESTART WITH :by SET tag = :tag", { by: random.below(50) }],
];

function update(random: Random, tag: string): SimStatement {
  const [change, args] = random.pick(CHANGES)(random);
  if (random.chance(0.85)) {
    return {
      statement: `UPDATE ${NOTES} ${change} WHERE _id = :id`,
      args: { ...args, tag, id: random.pick([...IDS, "i0", "i1", "i2"]) },
    };
  }
  return {
    statement: `UPDATE ${NOTES} ${change} WHERE owner = :of`,
    args: { ...args, tag, of: random.pick(OWNERS) },
  };
}

function count(random: Random, tag: string): SimStatement {
  const [id, by] = [random.pick(TALLIES), 1 + random.below(9)];
  return {
    statement: `UPDATE ${TALLY} APPLY n INCREMENT BY :by SET tag = :tag WHERE _id = :id`,
    args: { by, id, tag },
    counts: { id, by },
  };
}

export function randomStatement(random: Random, tag: string): SimStatement {
  const choice = random.below(100);
  if (choice < 22) return count(random, tag);
  if (choice < 44) return insert(random, tag);
  if (choice < 47) return initial(random);
  if (choice < 55) {
    const id = random.pick([...IDS, "i0", "i2"]);
    return { statement: `DELETE FROM ${NOTES} WHERE _id = :id`, args: { id } };
  }
  return update(random, tag);
}

/** What only the server writes, beside all else. */
export function randomServerStatement(random: Random, tag: string): SimStatement {
  if (random.chance(0.03)) {
    const statement = `EVICT FROM ${NOTES} WHERE _id = :id`;
    return { statement, args: { id: random.pick(IDS) } };
  }
  if (random.chance(0.05)) {
    const d = { _id: random.pick(["s0", "s1"]), secret: tag };
    return {
      statement: `INSERT INTO ${PRIVATE} DOCUMENTS (:d) ON ID CONFLICT DO UPDATE`,
      args: { d },
    };
  }
  return randomStatement(random, tag);
}
