/** Types of client-schemas.mjs, for tests. */

export const GENERATED: readonly { readonly file: string; readonly about: string }[];

/** The text of a file of types, from an OpenAPI document. */
export function typesOf(document: object, about: string): string;
