/**
 * Security headers of the pages of the documentation: a page loads from this server only.
 */

import type { Headers } from "../http/answer.ts";

/** Sources of a content security policy by directive, instead of those that all pages have. */
export interface PolicyChanges {
  readonly [directive: string]: string;
}

/** Inline styles are allowed: Swagger UI, Mermaid and highlighted code need them. */
const POLICY: PolicyChanges = {
  "default-src": "'none'",
  "script-src": "'self'",
  "style-src": "'self' 'unsafe-inline'",
  "img-src": "'self' data:",
  "connect-src": "'self'",
  "base-uri": "'none'",
  "form-action": "'none'",
  "frame-ancestors": "'none'",
};

export function securityHeaders(changes: PolicyChanges = {}): Headers {
  const directives = Object.entries({ ...POLICY, ...changes });
  return {
    "content-security-policy": directives.map(([name, sources]) => `${name} ${sources}`).join("; "),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
  };
}
