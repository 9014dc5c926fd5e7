/**
 * The links in the text of doc comments: `{@link Peer.close}` to a symbol, and names of documents
 * such as docs/errors.md.
 */

const SYMBOL = /\{@link ([\w.]+)\}/g;
const DOCUMENT = /\bdocs\/[\w-]+\.md(?:#[\w-]+)?/g;

export function symbolLinks(text) {
  return Array.from(text.matchAll(SYMBOL), ([, target]) => target);
}

export function documentLinks(text) {
  return Array.from(text.matchAll(DOCUMENT), ([target]) => target);
}

/** Replaces each link by what the functions return for its target. */
export function replaceLinks(text, { symbol, document }) {
  return text
    .replaceAll(DOCUMENT, (target) => document(target))
    .replaceAll(SYMBOL, (_, target) => symbol(target));
}
