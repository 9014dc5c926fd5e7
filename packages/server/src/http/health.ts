/**
 * Health endpoints: `/livez` answers while the process runs, `/readyz` answers 200 only while the
 * server should get requests. `/health/live` and `/health/ready` are other names for the same.
 */

import { createAnswer } from "./answer.ts";
import { type Endpoint, messageBody } from "./router.ts";

/** `ready` from when all stores are open until the server is about to close. */
export type Health = "starting" | "ready" | "closing";

export function healthEndpoints(health: () => Health): Endpoint[] {
  const shared = { methods: ["GET", "HEAD"], failureBody: messageBody };
  const live = ["/livez", "/health/live"].map((path) => ({
    ...shared,
    name: "health_live",
    path,
    answer: () => createAnswer(200, { status: "live" }),
  }));
  const ready = ["/readyz", "/health/ready"].map((path) => ({
    ...shared,
    name: "health_ready",
    path,
    answer: () => createAnswer(health() === "ready" ? 200 : 503, { status: health() }),
  }));
  return [...live, ...ready];
}
