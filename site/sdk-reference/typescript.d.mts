/**
 * Types of typescript.mjs, for the tests.
 */

export declare function loadTypescript(): Promise<unknown>;
