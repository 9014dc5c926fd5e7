/**
 * Any value: the type of what an app declares itself. The reference SDK has `any` there, so an app
 * compiles unchanged only with the same type.
 */

// oxlint-disable-next-line typescript/no-explicit-any -- see above.
export type AnyValue = any;

/** An object of such values: metadata of a peer, and the like. */
export type AnyObject = Record<string, AnyValue>;
