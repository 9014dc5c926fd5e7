/**
 * White space of Unicode: the separators of tokens in a statement and the default set of TRIM.
 */

/** Code units; all of them are in the first plane. */
export const WHITE_SPACE: ReadonlySet<number> = new Set(
  Array.from(
    "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000",
    (character) => character.charCodeAt(0),
  ),
);
