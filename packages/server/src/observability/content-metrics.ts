/**
 * Content metrics: counts the bytes of attachment contents that come and go, and the transfers that
 * failed. docs/operating.md has the table.
 *
 * Bytes are counted here for each piece, and copied to the registry at each scrape.
 */

import type { Metric, MetricRegistry } from "./metric-registry.ts";

export type ContentDirection = "in" | "out";

/**
 * How a content travels: uploads as a form or by offset, downloads of clients, links to other Big
 * Peers, and copies that other nodes of the cluster send.
 */
export type ContentWay = "form" | "resumable" | "download" | "link" | "cluster";

/**
 * Why a transfer failed. `cut`: the other end disconnected; `digest`: the content does not match its
 * id; `replaced`: a later request of the same upload ended it; `rights`: the caller may no longer
 * read the content.
 */
export type ContentFailure =
  | "cut"
  | "slow"
  | "digest"
  | "replaced"
  | "rights"
  | "malformed"
  | "too_large"
  | "full"
  | "busy"
  | "closing"
  | "failed";

/** Receives what happens to contents. */
export interface ContentTraffic {
  moved(direction: ContentDirection, way: ContentWay, bytes: number): void;
  failed(direction: ContentDirection, way: ContentWay, reason: ContentFailure): void;
}

/** Counts nothing. */
export const NO_TRAFFIC: ContentTraffic = { moved: () => {}, failed: () => {} };

interface Flow {
  readonly direction: ContentDirection;
  readonly way: ContentWay;
  bytes: number;
}

export class ContentMetrics implements ContentTraffic {
  readonly #bytes: Metric;
  readonly #failures: Metric;
  /** Each flow is there from the start, so that its first bytes count as an increase. */
  readonly #flows: readonly Flow[] = [
    { direction: "in", way: "form", bytes: 0 },
    { direction: "in", way: "resumable", bytes: 0 },
    { direction: "in", way: "link", bytes: 0 },
    { direction: "in", way: "cluster", bytes: 0 },
    { direction: "out", way: "download", bytes: 0 },
    { direction: "out", way: "link", bytes: 0 },
  ];

  constructor(registry: MetricRegistry) {
    const count = (name: string, help: string): Metric =>
      registry.counter(`bigpeer_attachment_${name}_total`, help);
    this.#bytes = count("bytes", "Bytes of attachment contents received and sent.");
    this.#failures = count("failures", "Transfers of attachment contents that failed.");
  }

  moved(direction: ContentDirection, way: ContentWay, bytes: number): void {
    const flow = this.#flows.find((each) => each.way === way && each.direction === direction);
    if (flow !== undefined) flow.bytes += bytes;
  }

  failed(direction: ContentDirection, way: ContentWay, reason: ContentFailure): void {
    this.#failures.add({ direction, way, reason });
  }

  collect(): void {
    for (const { direction, way, bytes } of this.#flows) this.#bytes.set({ direction, way }, bytes);
  }
}
