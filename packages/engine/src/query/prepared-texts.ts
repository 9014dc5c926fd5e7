/**
 * PreparedTexts: cache of prepared statements and filters of one store, by text.
 *
 * A short text is prepared at once. A long one is prepared in time slices, and its tree counts as
 * memory of its statement.
 */

import { locatedSteps } from "./fault.ts";
import type { Budget } from "./frame/budget.ts";
import { finish, type Steps } from "./frame/steps.ts";
import type { SliceTaking } from "./run/time-slicer.ts";
import {
  type FilterQuery,
  type PreparedFind,
  type PreparedTarget,
  prepareFind,
  prepareTarget,
} from "./statement/find.ts";
import { type PreparedStatement, prepareStatement } from "./statement/prepare.ts";
import { StatementCache } from "./statement/statement-cache.ts";
import type { SystemRow } from "./system/system-collections.ts";

/** Characters of a text that is prepared at once: it has hardly more than a thousand tokens. */
const SHORT_LENGTH = 2048;

/** Approximate bytes of the tree per character of a long text, until the statement ends. */
const BYTES_PER_CHARACTER = 64;

/** Memory of the preparation of a text. Short texts are not counted. */
export function preparedBytes(text: string): number {
  return text.length <= SHORT_LENGTH ? 0 : BYTES_PER_CHARACTER * text.length;
}

/** The owner whose time slices the preparation uses, and the budget that it counts against. */
export interface PrepareOptions {
  readonly budget: Budget;
  readonly owner: string | undefined;
  /** Prepare without time slices, for a synchronous caller. */
  readonly isAtOnce?: boolean;
}

export class PreparedTexts {
  readonly #slicer: SliceTaking;
  readonly #elapsed: () => number;
  readonly #statements = new StatementCache<PreparedStatement>();
  readonly #finds = new StatementCache<PreparedFind>();
  readonly #targets = new StatementCache<PreparedTarget>();

  /** `elapsed` is a monotonic clock. */
  constructor(slicer: SliceTaking, elapsed: () => number) {
    this.#slicer = slicer;
    this.#elapsed = elapsed;
  }

  /** A promise only for a long text. */
  takeStatement(
    text: string,
    onParsed: () => void,
    options: PrepareOptions,
  ): PreparedStatement | Promise<PreparedStatement> {
    const known = this.#statements.find(text);
    return known ?? this.#take(text, this.#preparing(text, onParsed), options);
  }

  statement(text: string, onParsed?: () => void): PreparedStatement {
    return this.#statements.find(text) ?? finish(this.#preparing(text, onParsed));
  }

  takeFind(
    { collection, query, sort = [] }: FilterQuery,
    options: PrepareOptions,
  ): PreparedFind | Promise<PreparedFind> {
    const filter = { collection, query, sort };
    const key = JSON.stringify([collection, query, sort]);
    const known = this.#finds.find(key);
    return known ?? this.#take(query, this.#preparingFind(key, filter), options);
  }

  target(collection: string, query: string): PreparedTarget {
    return this.#targets.get(JSON.stringify([collection, query]), () =>
      prepareTarget(collection, query),
    );
  }

  /** The cached statements, for `system:shared_statements`. */
  rows(): Iterable<SystemRow> {
    return this.#statements.rows();
  }

  #take<T>(
    text: string,
    steps: Steps<T>,
    { budget, owner, isAtOnce }: PrepareOptions,
  ): T | Promise<T> {
    if (isAtOnce === true || text.length <= SHORT_LENGTH) return finish(steps);
    return this.#slicer.take(steps, budget, NOTHING_HELD, owner);
  }

  *#preparing(text: string, onParsed: (() => void) | undefined): Steps<PreparedStatement> {
    const steps = prepareStatement(text, this.#elapsed, onParsed);
    return this.#statements.keep(text, yield* locatedSteps(text, steps));
  }

  *#preparingFind(key: string, filter: FilterQuery): Steps<PreparedFind> {
    return this.#finds.keep(key, yield* locatedSteps(filter.query, prepareFind(filter)));
  }
}

const NOTHING_HELD = { close: (): void => {} };
