/**
 * Unauthorized: the refusal, 401, of a caller that is unknown or lacks a permission.
 */

import { Refusal } from "../http/refusal.ts";

export function unauthorized(message: string): Refusal {
  return new Refusal(401, message, { "www-authenticate": "Bearer" });
}
