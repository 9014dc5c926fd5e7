/**
 * GROUP BY: collects rows with equal keys into groups and computes the aggregates of each group.
 *
 * Null and MISSING are keys of their own; 1 and 1.0 are equal. A key that fails counts as MISSING.
 */

import { compile } from "../compile/expression.ts";
import type { Evaluate, Frame, Run } from "../frame/frame.ts";
import { type Accumulator, startAggregate } from "../functions/aggregate.ts";
import type { Grouping } from "../plan/output.ts";
import { type Datum, Failure, MISSING, type Outcome } from "../value/datum.ts";
import { type Execution, warnOf } from "./execution.ts";
import { GroupTable, sizeInTable } from "./group-table.ts";
import type { Sink } from "./row-stream.ts";

interface Group {
  readonly keys: readonly Datum[];
  readonly accumulators: readonly Accumulator[];
}

/** Approximate bytes of a group without its keys, and of each aggregate in it. */
const GROUP_BYTES = 256;
const ACCUMULATOR_BYTES = 96;

/** A stage. `count`: the row count, if the statement asks for nothing else; then no rows come. */
export type GroupStage = (execution: Execution, next: Sink, count?: number) => Sink;

/** Emits one row for each group, with keys and aggregates in their slots. */
export function compileGroups(grouping: Grouping, slot: number): GroupStage {
  const keys = grouping.keys.map(({ expression }) => compile(expression));
  const args = grouping.aggregates.map(compileArgument);
  const aggregateCount = grouping.aggregates.length;
  const having = grouping.having === undefined ? undefined : compile(grouping.having);
  return (execution, next, count) => {
    const groups = new GroupTable<Group>();
    const { run } = execution;
    const frame: Frame = { run, slots: [] };
    /** Keys and arguments of one row, which may be evaluated again until all are known. */
    const values: Datum[] = keys.map(() => MISSING);
    const given: Outcome[] = args.map(() => MISSING);
    const pass = (): boolean => {
      const outcome = having === undefined || having(frame);
      if (outcome instanceof Failure) warnOf(execution, outcome, MISSING);
      return outcome !== true || next.row(frame);
    };
    return {
      row(row) {
        for (let i = 0; i < keys.length; i++) {
          const value = (keys[i] as Evaluate)(row);
          if (value instanceof Failure) warnOf(execution, value, row.slots[slot]);
          values[i] = value instanceof Failure ? MISSING : value;
        }
        for (let i = 0; i < args.length; i++) given[i] = (args[i] as Evaluate)(row);
        let group = groups.find(values);
        if (group === undefined) {
          const size = GROUP_BYTES + ACCUMULATOR_BYTES * aggregateCount + sizeInTable(values);
          run.budget.take(size);
          group = startGroup(grouping, [...values], run);
          groups.add(group.keys, group);
        }
        for (let i = 0; i < given.length; i++) {
          const value = given[i];
          if (value instanceof Failure) warnOf(execution, value, row.slots[slot]);
          else group.accumulators[i]?.add(value);
        }
        return true;
      },
      *end() {
        if (count !== undefined) groups.add([], countedGroup(grouping, count));
        if (groups.all.length === 0 && grouping.isWhole) {
          groups.add([], startGroup(grouping, [], run));
        }
        for (const group of groups.all) {
          run.budget.endPiece();
          for (const accumulator of group.accumulators) {
            if (accumulator.settle !== undefined) yield* accumulator.settle();
          }
          run.budget.startRow();
          run.budget.step();
          fill(frame, group, grouping);
          const { subqueries } = run;
          const goesOn =
            subqueries === undefined ? pass() : yield* subqueries.attempt(pass, execution.warnings);
          if (!goesOn) break;
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

/** A group whose aggregates are all `count(*)`. */
function countedGroup({ aggregates }: Grouping, count: number): Group {
  return { keys: [], accumulators: aggregates.map(() => ({ add: () => {}, result: () => count })) };
}

function compileArgument({ call }: Grouping["aggregates"][number]): Evaluate {
  const [arg] = call.args;
  // COUNT(*) counts every row.
  return arg === undefined ? () => true : compile(arg);
}

function fill({ slots }: Frame, group: Group, { keys, aggregates }: Grouping): void {
  for (const [i, { slot }] of keys.entries()) slots[slot] = group.keys[i];
  for (const [i, { slot }] of aggregates.entries()) {
    slots[slot] = group.accumulators[i]?.result();
  }
}
