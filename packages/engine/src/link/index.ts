/**
 * Links between Big Peers: replication by query.
 */

export { Link, type LinkEvent, type LinkOptions } from "./link.ts";
export type { ContentPiece, FetchOutcome, LinkAttachments } from "./link-contents.ts";
export { type LinkSide, linkProofBytes, type ProvenGreeting } from "./link-proof.ts";
export type { QueriesByCollection } from "./link-query.ts";
export type { LinkFault, LinkStatus, LinkSubscription } from "./link-status.ts";
