/**
 * CREATE INDEX and DROP INDEX: write the first piece of the index change in the transaction. The
 * background index builder does the rest.
 */

import { FIRST_PIECE } from "../../store/index-builder.ts";
import { Fault } from "../fault.ts";
import { transactionOf } from "../mutate/application.ts";
import { storedName } from "../plan/collection.ts";
import type { CreateIndexStatement, DropIndexStatement } from "../syntax/tree.ts";
import type { RunWork } from "./work.ts";

const NOTHING = { items: [], ids: [] };

export function compileCreateIndex(statement: CreateIndexStatement): RunWork {
  const collection = storedName(statement.collection);
  const { name, keys, ifNotExists, at } = statement;
  return function* run(execution) {
    const transaction = transactionOf(execution);
    if (transaction.view.index(collection, name) !== undefined) {
      if (ifNotExists) return NOTHING;
      throw new Fault("query.store", `${collection} has an index named ${name} already`, at);
    }
    yield* transaction.applyInSteps([
      { kind: "create_index", collection, name, keys, limit: FIRST_PIECE },
    ]);
    return NOTHING;
  };
}

export function compileDropIndex(statement: DropIndexStatement): RunWork {
  const collection = storedName(statement.collection);
  const { name, ifExists, at } = statement;
  return function* run(execution) {
    const transaction = transactionOf(execution);
    if (transaction.view.index(collection, name) === undefined) {
      if (ifExists) return NOTHING;
      throw new Fault("query.store", `${collection} has no index named ${name}`, at);
    }
    yield* transaction.applyInSteps([{ kind: "drop_index", collection, name, limit: FIRST_PIECE }]);
    return NOTHING;
  };
}
