/**
 * Health endpoints: `/health/live` answers while the process runs, `/health/ready` answers 200 only
 * while the server accepts work.
 */

import { createAnswer } from "./answer.ts";
import { type Endpoint, messageBody } from "./router.ts";

/** `ready` from when all stores are open until the server starts to close. */
export type Health = "starting" | "ready" | "closing";

export function healthEndpoints(health: () => Health): Endpoint[] {
  const shared = { methods: ["GET", "HEAD"], failureBody: messageBody };
  return [
    {
      ...shared,
      name: "health_live",
      path: "/health/live",
      answer: () => createAnswer(200, { status: "live" }),
    },
    {
      ...shared,
      name: "health_ready",
      path: "/health/ready",
      answer: () => createAnswer(health() === "ready" ? 200 : 503, { status: health() }),
    },
  ];
}
