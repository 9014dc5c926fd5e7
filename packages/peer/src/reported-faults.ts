/**
 * Reported faults: the faults of the connection that were already reported to the app. Each is
 * reported once until the peer connects, not at every attempt.
 */

/** Limits reports of a fault whose text differs at every attempt, such as one with a time in it. */
const FAULTS_MAX = 10;

export class ReportedFaults {
  readonly #messages = new Set<string>();

  /** Whether the fault must be reported. */
  add(message: string): boolean {
    if (this.#messages.size >= FAULTS_MAX || this.#messages.has(message)) return false;
    this.#messages.add(message);
    return true;
  }

  clear(): void {
    this.#messages.clear();
  }
}
