/**
 * Bearer: reads the bearer token from the header `Authorization`.
 */

const BEARER = /^bearer +(\S+) *$/i;

/** Returns the token after `Bearer`; undefined when the header is missing or has another form. */
export function bearerOf(authorization: string | undefined): string | undefined {
  return BEARER.exec(authorization ?? "")?.[1];
}
