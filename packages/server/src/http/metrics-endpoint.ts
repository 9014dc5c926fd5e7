/**
 * Metrics endpoint, `/metrics`: the metrics of the server in the text format of Prometheus.
 */

import type { Metrics } from "../observability/metrics.ts";
import { contentAnswer } from "./answer.ts";
import { type Endpoint, messageBody } from "./router.ts";

export function metricsEndpoint(metrics: Metrics): Endpoint {
  return {
    name: "metrics",
    path: "/metrics",
    methods: ["GET", "HEAD"],
    failureBody: messageBody,
    answer: async () => {
      const bytes = Buffer.from(await metrics.scrape());
      const headers = { "content-type": metrics.contentType };
      return contentAnswer(200, { kind: "bytes", bytes }, headers);
    },
  };
}
