/**
 * PreparedFilters: cache of prepared filters of the data API of one store, by text.
 *
 * It is apart from PreparedTexts, so that a small peer, which has no data API, does not load the
 * language of filters.
 */

import { locatedSteps } from "../fault.ts";
import type { Steps } from "../frame/steps.ts";
import type { SliceTaking } from "../run/time-slicer.ts";
import {
  type FilterQuery,
  type PreparedFind,
  type PreparedTarget,
  prepareFind,
  prepareTarget,
} from "../statement/find.ts";
import { StatementCache } from "../statement/statement-cache.ts";
import { type Preparation, takePrepared } from "./prepared-texts.ts";
import type { RunnerContext } from "./runner-context.ts";

export class PreparedFilters {
  readonly #slicer: SliceTaking;
  readonly #finds = new StatementCache<PreparedFind>();
  readonly #targets = new StatementCache<PreparedTarget>();

  constructor(slicer: SliceTaking) {
    this.#slicer = slicer;
  }

  /** A promise only for a long text. */
  takeFind(
    { collection, query, sort = [] }: FilterQuery,
    preparation: Preparation,
  ): PreparedFind | Promise<PreparedFind> {
    const filter = { collection, query, sort };
    const key = JSON.stringify([collection, query, sort]);
    const known = this.#finds.find(key);
    if (known !== undefined) return known;
    return takePrepared(query, this.#preparing(key, filter), preparation, this.#slicer);
  }

  target(collection: string, query: string): PreparedTarget {
    return this.#targets.get(JSON.stringify([collection, query]), () =>
      prepareTarget(collection, query),
    );
  }

  *#preparing(key: string, filter: FilterQuery): Steps<PreparedFind> {
    return this.#finds.keep(key, yield* locatedSteps(filter.query, prepareFind(filter)));
  }
}

const ofContexts = new WeakMap<RunnerContext, PreparedFilters>();

/** The prepared filters of a runner. */
export function filtersOf(context: RunnerContext): PreparedFilters {
  const known = ofContexts.get(context);
  if (known !== undefined) return known;
  const filters = new PreparedFilters(context.slicer);
  ofContexts.set(context, filters);
  return filters;
}
