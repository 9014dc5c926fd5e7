/**
 * Unauthorized: the answer to whom nobody knows, or who may not do this at all.
 */

import { Refusal } from "../http/refusal.ts";

export function unauthorized(message: string): Refusal {
  return new Refusal(401, message, { "www-authenticate": "Bearer" });
}
