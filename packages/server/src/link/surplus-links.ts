/**
 * Surplus links: selects the duplicate links to end. Between two stores one link is enough, and
 * both sides must end the same one (S84).
 *
 * Of two links that different sides dialled, the one stays that the store with the smaller history
 * dialled. If one side dialled both, it has two addresses of one store, and ends the later link.
 * The other side may hold a link that has already ended, because its partner restarted. It ends the
 * earlier link when the later one has lasted for a while.
 */

export interface RivalLink {
  readonly side: "dial" | "accept";
  /** The history of the other side. */
  readonly partner: string;
  /** When it was linked, on a monotonic clock. */
  readonly linkedMs: number;
}

/** How long the side that dialled twice has to end one of them. */
const SETTLE_MS = 5_000;

/** The links that must be ended now. */
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

/** The surplus of links that one side dialled. */
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
