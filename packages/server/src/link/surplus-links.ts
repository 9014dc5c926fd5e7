/**
 * Surplus links: between two stores one link is enough (S49), and both sides must end the same one.
 *
 * Of two that different sides have dialled, the one stays that the store with the smaller history has
 * dialled. Of two that the same side has dialled, that side knows best: it has two addresses of one
 * store, and ends the later one. The other side may have a link of which it has not heard yet that it
 * is gone, because its partner was started anew: it ends the earlier one, when the later has lived for
 * a while.
 */

export interface RivalLink {
  readonly side: "dial" | "accept";
  /** The history of the other side. */
  readonly partner: string;
  /** When it was linked, on a clock that never goes back. */
  readonly linkedMs: number;
}

/** How long the side that dialled twice has to end one of them. */
const SETTLE_MS = 5_000;

/** Those of all linked ones that are to be ended now. */
export function surplusLinks<L extends RivalLink>(
  ownHistory: string,
  links: Iterable<L>,
  nowMs: number,
): L[] {
  const byPartner = new Map<string, L[]>();
  for (const link of links) {
    const rivals = byPartner.get(link.partner);
    if (rivals === undefined) byPartner.set(link.partner, [link]);
    else rivals.push(link);
  }
  const surplus: L[] = [];
  for (const [partner, rivals] of byPartner) {
    if (rivals.length > 1) surplus.push(...surplusOf(ownHistory < partner, rivals, nowMs));
  }
  return surplus;
}

function surplusOf<L extends RivalLink>(isSmaller: boolean, rivals: readonly L[], nowMs: number) {
  const preferred = isSmaller ? "dial" : "accept";
  const favoured = rivals.filter(({ side }) => side === preferred);
  const others = rivals.filter(({ side }) => side !== preferred);
  if (favoured.length > 0) return [...others, ...repeatedOf(favoured, preferred, nowMs)];
  return repeatedOf(others, isSmaller ? "accept" : "dial", nowMs);
}

/** All of one side. */
function repeatedOf<L extends RivalLink>(
  links: readonly L[],
  side: RivalLink["side"],
  nowMs: number,
): L[] {
  const ordered = links.toSorted((a, b) => a.linkedMs - b.linkedMs);
  if (side === "dial") return ordered.slice(1);
  const newest = ordered.at(-1);
  const isSettled = newest !== undefined && nowMs - newest.linkedMs >= SETTLE_MS;
  return isSettled ? ordered.slice(0, -1) : [];
}
