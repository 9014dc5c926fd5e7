/**
 * Bearer: the credential in the header Authorization.
 */

const BEARER = /^bearer +(\S+) *$/i;

/** What follows `Bearer`; undefined when the header is not of that form, or not there. */
export function bearerOf(authorization: string | undefined): string | undefined {
  return BEARER.exec(authorization ?? "")?.[1];
}
