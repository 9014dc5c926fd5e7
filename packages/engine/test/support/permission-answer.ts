/**
 * Answers for generated permissions: what somebody is told, what is expected instead where it cannot
 * be the same by nature, and how often either came up.
 */

import { isDeepStrictEqual } from "node:util";
import { PeerError } from "@bigpeer/protocol";
import type { FuzzWorld } from "./permission-fuzz.ts";
import { allows, documentsOf, evict, type Peer, type Placed } from "./permission-peer.ts";

/** Where both cannot be told the same, and why. */
export const BY_NATURE = {
  noRule: "A collection without a rule is denied before anything is looked at, there or not.",
  takenId: "An id that a hidden document has is denied; in the other store it is free.",
  unwritable: "What may be read but not written is denied; who has no rules writes it.",
  after: "What may not be written as it would become is denied; who has no rules writes it.",
  token: "A content that he neither brought nor sees is denied; who has no rules may name any.",
  whole: "Indexes and settings need everything.",
  returned: "RETURNING leaves out what the change has hidden from him.",
  counted: "Commands leave what may not be written, and count it.",
  known: "A collection with a rule is known; the other store may never have heard of it.",
  transaction: "The numbers of transactions count the writes of everybody.",
  history: "His own requests are compared with what he was told: denials are among them.",
  emptied: "A collection without documents stays known; so the other store is made anew.",
  unseen:
    "Indexes of a collection are told of once he sees a document of it; the other has them then.",
  tombstone: "INITIAL does not bring back what was deleted; the other store has never held it.",
  stats: "Figures of the store as a whole, and texts of others, are nothing to him.",
} as const;

export type Nature = keyof typeof BY_NATURE;

/** What was told to him differs from what the same store tells to somebody without rules. */
export const RULED = "the rules made a difference";

/** How often things came up. */
export class Tally {
  readonly #counts = new Map<string, number>();

  count(what: string): void {
    this.#counts.set(what, this.of(what) + 1);
  }

  of(what: string): number {
    return this.#counts.get(what) ?? 0;
  }
}

/** What somebody is told. */
export type Reply = { readonly [part: string]: unknown };

/** Told the same as the other, or denied in one of these words. */
export type Expected = { readonly reply: Reply } | { readonly denied: readonly string[] };

/** How a denial begins. */
export const DENIAL = "the credential has no permission";

export function noRule(collections: readonly string[], at = ""): Expected {
  return { denied: collections.map((name) => `${DENIAL} for the collection ${name}${at}`) };
}

export function noDocument(collection: string, at = ""): Expected {
  return { denied: [`${DENIAL} to write this document of the collection ${collection}${at}`] };
}

export function noToken(at = ""): Expected {
  return { denied: [`${DENIAL} to refer to this attachment${at}`] };
}

export async function replyOf(work: () => Promise<Reply> | Reply): Promise<Reply> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof PeerError)) return { crash: String(error) };
    const { code, message, at, place } = error;
    return { error: code, message, at, place };
  }
}

export interface Prediction {
  readonly expected: Expected;
  /** What it leaves, when it writes. */
  readonly next?: { readonly readable: Peer; readonly moved: readonly Placed[] } | undefined;
}

/** Takes out what may not be read any more, and returns it. */
export async function settle(peer: Peer, { read }: FuzzWorld): Promise<Placed[]> {
  const moved = [...documentsOf(peer).values()].filter((each) => !allows(read, each));
  await evict(peer, moved);
  return moved;
}

export function differenceOf(expected: Expected, found: Reply): string | undefined {
  if ("reply" in expected) {
    if (isDeepStrictEqual(expected.reply, found)) return undefined;
    return differing("answer", expected.reply, found);
  }
  const { error, message } = found;
  const isExpected = error === "permission.denied" && expected.denied.includes(String(message));
  return isExpected ? undefined : differing("answer", expected, found);
}

export function differing(what: string, expected: unknown, found: unknown): string {
  const shown = (value: unknown): string => JSON.stringify(value) ?? "nothing";
  return `${what}\n  expected ${shown(expected)}\n  found    ${shown(found)}`;
}
