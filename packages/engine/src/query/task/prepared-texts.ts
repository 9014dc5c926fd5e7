/**
 * PreparedTexts: cache of prepared statements of one store, by text.
 *
 * A short text is prepared at once. A long one is prepared in time slices, and its tree counts as
 * memory of its statement.
 */

import { locatedSteps } from "../fault.ts";
import type { Budget } from "../frame/budget.ts";
import { finish, type Steps } from "../frame/steps.ts";
import { NOTHING_HELD, type SliceTaking } from "../run/time-slicer.ts";
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
    return takePrepared(text, steps, preparation, this.#slicer);
  }

  statement(text: string, onParsed?: () => void): PreparedStatement {
    return this.#statements.find(text) ?? finish(this.#preparing(text, onParsed));
  }

  /** The cached statements, for `system:shared_statements`. */
  rows(): Iterable<SystemRow> {
    return this.#statements.rows();
  }

  *#preparing(text: string, onParsed: (() => void) | undefined): Steps<PreparedStatement> {
    const steps = prepareStatement(text, this.#elapsed, onParsed);
    return this.#statements.keep(text, yield* locatedSteps(text, steps));
  }
}

/** Prepares a text: a short one at once, a long one in time slices. */
export function takePrepared<T>(
  text: string,
  steps: Steps<T>,
  { budget, owner, isAtOnce }: Preparation,
  slicer: SliceTaking,
): T | Promise<T> {
  if (isAtOnce || text.length <= SHORT_LENGTH) return finish(steps);
  return slicer.take(steps, budget, NOTHING_HELD, owner);
}
