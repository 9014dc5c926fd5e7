/**
 * checkFilter: throws unless a text is a valid filter of documents, as in permissions and in
 * replications. In permissions of users it may refer to the caller; in saved permissions it must
 * not be always false.
 */

import { PeerError } from "@bigpeer/protocol";
import { Fault, locate, semanticFault } from "../fault.ts";
import { refuseBareCaller } from "./bare-caller.ts";
import { withPlaceholders } from "./caller.ts";
import { permissionFilter } from "./permission-filter.ts";
import type { PermissionSource } from "./permission-source.ts";

/** Throws a PeerError at `at` unless the text is a valid permission query for this source. */
export function checkFilter(text: string, at: string, source: PermissionSource = {}): void {
  try {
    const isTemplate = source.isOfUsers === true && text.includes(":");
    const filled = isTemplate ? withPlaceholders(text) : text;
    const { isAlways, isConstant } = permissionFilter(filled);
    if (source.isSaved === true && source.isOfUsers === true) refuseBareCaller(text);
    if (source.isSaved === true && filled === text && isConstant && !isAlways) throw neverTrue();
  } catch (error) {
    const inText = locate(error, text);
    if (!(error instanceof Fault) || !(inText instanceof PeerError)) throw error;
    const { code, reason, expected, hint } = error;
    const { place } = inText;
    const where = inText.at === undefined ? at : `${at}, ${inText.at}`;
    throw new PeerError(code, reason, { at: where, place, expected, hint });
  }
}

function neverTrue(): Fault {
  const reason =
    "expected true, or a query about a field of the document, found one that names no field";
  return semanticFault(
    reason,
    0,
    "write true for the whole collection, and no query for none of it",
  );
}
