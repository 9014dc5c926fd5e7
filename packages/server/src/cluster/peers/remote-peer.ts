/**
 * RemotePeer: a session of a peer on another node, as the presence of this node lists it.
 */

import type { PeerReport, PresentSession } from "@bigpeer/engine/sync";
import { equalValues, type PeerDescription, type ValueObject } from "@bigpeer/protocol";
import type { PeerState } from "./peer-message.ts";

export class RemotePeer implements PresentSession {
  readonly session: number;
  readonly #elapsed: () => number;
  #report: PeerReport;
  #receivedMs: number;

  /** `elapsed` is a monotonic clock. */
  constructor(report: PeerReport, elapsed: () => number) {
    this.session = report.session;
    this.#elapsed = elapsed;
    this.#report = report;
    this.#receivedMs = elapsed();
  }

  get description(): PeerDescription {
    return this.#report.description;
  }

  get credential(): string {
    return this.#report.credential;
  }

  get sinceMs(): number {
    return this.#report.sinceMs;
  }

  /** Its own node sends it everything. */
  get queuedBytes(): number {
    return 0;
  }

  /** As its node has reported it last. */
  report(): PeerReport {
    const { traffic } = this.#report;
    const heardMs = traffic.heardMs + Math.round(this.#elapsed() - this.#receivedMs);
    return { ...this.#report, traffic: { ...traffic, heardMs } };
  }

  send(): void {}

  /** Returns whether anything but subscriptions, progress and traffic differs. */
  update(report: PeerReport): boolean {
    const before = this.#report;
    this.#report = report;
    this.#receivedMs = this.#elapsed();
    return (
      before.credential !== report.credential ||
      before.userId !== report.userId ||
      !equalValues(before.identity, report.identity) ||
      !equalValues(fieldsOf(before.description), fieldsOf(report.description))
    );
  }

  updateState({ progress, traffic }: PeerState): void {
    this.#report = { ...this.#report, progress, traffic };
    this.#receivedMs = this.#elapsed();
  }
}

function fieldsOf(description: PeerDescription): ValueObject {
  return description as unknown as ValueObject;
}
