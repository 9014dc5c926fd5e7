/**
 * Data endpoints: lists the operations of the data API and creates an endpoint for each.
 */

import type { Endpoint } from "../http/router.ts";
import { COUNT } from "./count.ts";
import { EXECUTE } from "./execute.ts";
import { FIND } from "./find.ts";
import { FIND_BY_ID } from "./find-by-id.ts";
import { type Operation, type OperationHost, operationEndpoint } from "./operation.ts";
import { REMOTE_EXECUTE } from "./remote-execute.ts";
import { WRITE } from "./write.ts";

/** Properties of an operation that do not depend on the type of its request. */
export type AnyOperation = Pick<
  Operation<never>,
  "name" | "path" | "isJsonOnly" | "unreachedStatus"
>;

export const OPERATIONS: readonly AnyOperation[] = [
  EXECUTE,
  COUNT,
  FIND,
  FIND_BY_ID,
  WRITE,
  REMOTE_EXECUTE,
];

export function dataEndpoints(host: OperationHost): Endpoint[] {
  return [
    operationEndpoint(host, EXECUTE),
    operationEndpoint(host, COUNT),
    operationEndpoint(host, FIND),
    operationEndpoint(host, FIND_BY_ID),
    operationEndpoint(host, WRITE),
    operationEndpoint(host, REMOTE_EXECUTE),
  ];
}
