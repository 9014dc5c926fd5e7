/**
 * Groups: rows with equal keys come together, and aggregates say what each group comes to.
 *
 * Null and MISSING are keys of their own; 1 and 1.0 are one. A key that fails counts as MISSING.
 */

import { compile } from "../compile/expression.ts";
import type { Evaluate, Frame, Run } from "../frame/frame.ts";
import { type Accumulator, startAggregate } from "../functions/aggregate.ts";
import type { Grouping } from "../plan/output.ts";
import { dataKey, joinKeys } from "../value/compare.ts";
import { type Datum, Failure, MISSING } from "../value/datum.ts";
import { type Execution, warnOf } from "./execution.ts";
import type { Stage } from "./rows.ts";

interface Group {
  readonly keys: readonly Datum[];
  readonly accumulators: readonly Accumulator[];
}

/** Rough bytes of a group without its keys, and of each aggregate in it. */
const GROUP_BYTES = 256;
const ACCUMULATOR_BYTES = 96;

/** Hands on one row for each group, with keys and aggregates in their slots. */
export function compileGroups(grouping: Grouping, slot: number): Stage {
  const keys = grouping.keys.map(({ expression }) => compile(expression));
  const collect = compileCollect(grouping, slot);
  const aggregateCount = grouping.aggregates.length;
  const having = grouping.having === undefined ? undefined : compile(grouping.having);
  return (execution, next) => {
    const groups = new Map<string, Group>();
    const { run } = execution;
    const frame: Frame = { run, slots: [] };
    return {
      row(row) {
        const values = keys.map((key) => {
          const value = key(row);
          if (!(value instanceof Failure)) return value;
          warnOf(execution, value, row.slots[slot]);
          return MISSING;
        });
        const name = joinKeys(values.map(dataKey));
        let group = groups.get(name);
        if (group === undefined) {
          run.budget.take(GROUP_BYTES + ACCUMULATOR_BYTES * aggregateCount + 2 * name.length);
          group = startGroup(grouping, values, run);
          groups.set(name, group);
        }
        collect(group, row, execution);
        return true;
      },
      *end() {
        if (groups.size === 0 && grouping.isWhole) groups.set("", startGroup(grouping, [], run));
        for (const group of groups.values()) {
          run.budget.startRow();
          run.budget.step();
          fill(frame, group, grouping);
          const outcome = having === undefined || having(frame);
          if (outcome instanceof Failure) warnOf(execution, outcome, MISSING);
          if (outcome === true && !next.row(frame)) break;
          yield;
        }
        run.budget.endPiece();
        yield* next.end();
      },
    };
  };
}

function startGroup(grouping: Grouping, keys: readonly Datum[], run: Run): Group {
  const accumulators = grouping.aggregates.map(({ call }) =>
    startAggregate(call.name, call.isDistinct === true, run),
  );
  return { keys, accumulators };
}

type Collect = (group: Group, row: Frame, execution: Execution) => void;

function compileCollect({ aggregates }: Grouping, slot: number): Collect {
  const args = aggregates.map(({ call }): Evaluate => {
    const [arg] = call.args;
    // COUNT(*) counts every row.
    return arg === undefined ? () => true : compile(arg);
  });
  return (group, row, execution) => {
    for (let i = 0; i < args.length; i++) {
      const value = args[i]?.(row);
      if (value instanceof Failure) warnOf(execution, value, row.slots[slot]);
      else group.accumulators[i]?.add(value);
    }
  };
}

function fill({ slots }: Frame, group: Group, { keys, aggregates }: Grouping): void {
  for (const [i, { slot }] of keys.entries()) slots[slot] = group.keys[i];
  for (const [i, { slot }] of aggregates.entries()) {
    slots[slot] = group.accumulators[i]?.result();
  }
}
