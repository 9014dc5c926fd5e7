/** Types of built-site.mjs, for its test. */

export function finishSite(folder: string): void;
