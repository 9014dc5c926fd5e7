/**
 * Texts as trees, and as the faults that are found in them: for the tests of the parser.
 */
import { Fault } from "../../../src/query/fault.ts";
import { parseStatement } from "../../../src/query/syntax/parse-statement.ts";
import { withoutPlaces } from "./tree-places.ts";

/** The statement without the places of its nodes. */
export function parsed(text: string): unknown {
  return withoutPlaces(parseStatement(text).statement);
}

export function faultOf(text: string, parse: (text: string) => unknown = parseStatement): Fault {
  try {
    parse(text);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error(`this was read: ${text}`);
}
