/**
 * compileSubquery: compiles EXISTS and the subquery of IN; `Run.subqueries` executes them.
 */

import { assert } from "@bigpeer/protocol";
import type { Evaluate, Frame, Subqueries } from "../frame/frame.ts";
import type { BoundQuery, SubqueryNode } from "../syntax/tree.ts";
import type { Members } from "../value/members.ts";

export function compileSubquery(node: SubqueryNode): Evaluate {
  if (node.purpose === "members") {
    const members = compileMembers(node);
    return (frame) => members(frame).values;
  }
  const query = boundOf(node);
  return (frame) => runnerOf(frame).exists(query, frame);
}

export function compileMembers(node: SubqueryNode): (frame: Frame) => Members {
  const query = boundOf(node);
  return (frame) => runnerOf(frame).members(query, frame);
}

function boundOf({ bound }: SubqueryNode): BoundQuery {
  assert(bound !== undefined, "a query that is bound");
  return bound;
}

function runnerOf({ run }: Frame): Subqueries {
  assert(run.subqueries !== undefined, "a statement whose queries can run");
  return run.subqueries;
}
