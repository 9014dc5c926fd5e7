/**
 * The known collection whose name is nearest to one that is not known, for hints.
 */

import { nearest } from "@bigpeer/protocol";
import { type DocumentView, present } from "./document-view.ts";

/** Of so many names the nearest is suggested: a hint must not cost more than the request. */
const NAMES_COMPARED = 1000;

/** Undefined when none is near. */
export function nearestCollection(view: DocumentView, name: string): string | undefined {
  return nearest(name, [...present(view.collections(NAMES_COMPARED))]);
}
