/**
 * PreparedTexts: cache of prepared statements and filters of one store, by text.
 *
 * A short text is prepared at once. A long one is prepared in time slices, and its tree counts as
 * memory of its statement.
 */

import { locatedSteps } from "../fault.ts";
import type { Budget } from "../frame/budget.ts";
import { finish, type Steps } from "../frame/steps.ts";
import { NOTHING_HELD, type SliceTaking } from "../run/time-slicer.ts";
import {
  type FilterQuery,
  type PreparedFind,
  type PreparedTarget,
  prepareFind,
  prepareTarget,
} from "../statement/find.ts";
import { type PreparedStatement, prepareStatement } from "../statement/prepare.ts";
import { StatementCache } from "../statement/statement-cache.ts";
import type { SystemRow } from "../system/system-collections.ts";

/** Characters of a text that is prepared at once: it has hardly more than a thousand tokens. */
const SHORT_LENGTH = 2048;

/** Approximate bytes of the tree per character of a long text, until the statement ends. */
const BYTES_PER_CHARACTER = 64;

/** Memory of the preparation of a text. Short texts are not counted. */
export function preparedBytes(text: string): number {
  return text.length <= SHORT_LENGTH ? 0 : BYTES_PER_CHARACTER * text.length;
}

/** The request that a text is prepared for. */
export interface Preparation {
  /** The preparation of a long text counts against it. */
  readonly budget: Budget;
  /** The owner whose time slices the preparation uses. */
  readonly owner: string | undefined;
  /** Whether to prepare without time slices, for a synchronous caller. */
  readonly isAtOnce: boolean;
  /** Called between parsing and planning, unless the text is known. */
  onParsed(): void;
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
    preparation: Preparation,
  ): PreparedStatement | Promise<PreparedStatement> {
    const known = this.#statements.find(text);
    if (known !== undefined) return known;
    const steps = this.#preparing(text, () => preparation.onParsed());
    return this.#take(text, steps, preparation);
  }

  statement(text: string, onParsed?: () => void): PreparedStatement {
    return this.#statements.find(text) ?? finish(this.#preparing(text, onParsed));
  }

  takeFind(
    { collection, query, sort = [] }: FilterQuery,
    preparation: Preparation,
  ): PreparedFind | Promise<PreparedFind> {
    const filter = { collection, query, sort };
    const key = JSON.stringify([collection, query, sort]);
    const known = this.#finds.find(key);
    return known ?? this.#take(query, this.#preparingFind(key, filter), preparation);
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
    { budget, owner, isAtOnce }: Preparation,
  ): T | Promise<T> {
    if (isAtOnce || text.length <= SHORT_LENGTH) return finish(steps);
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
