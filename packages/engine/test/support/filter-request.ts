/**
 * A request for the documents that a filter chooses, or for their number, as it is generated.
 */

import type { ValueObject } from "@bigpeer/protocol";
import type { SortKey } from "../../src/query/statement/find.ts";

export interface FilterRequest {
  readonly kind: "find" | "count";
  readonly collection: string;
  readonly query: string;
  readonly args: ValueObject;
  readonly sort: readonly SortKey[];
  readonly offset: number;
  readonly limit: number;
}
