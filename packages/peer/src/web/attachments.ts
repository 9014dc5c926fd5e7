/**
 * Attachments, in a bundle of their own that the worker loads on use (lazy-code.ts).
 */

export { openWebAttachments } from "./contents/web-attachments.ts";
