/**
 * Health: `/health/live` says that the process runs, `/health/ready` that it may be given work.
 */

import { createAnswer } from "./answer.ts";
import { type Endpoint, messageBody } from "./router.ts";

/** `ready` only between the moment when all stores are open and the first step of closing. */
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
