/**
 * Reported faults: which faults of the connection the app has heard of. Each is reported once until
 * the peer connects, not at every attempt.
 */

/** A fault whose text differs at every attempt, such as one with a time in it, is not reported for ever. */
const FAULTS_MAX = 10;

export class ReportedFaults {
  readonly #messages = new Set<string>();

  /** Whether it is to be reported. */
  add(message: string): boolean {
    if (this.#messages.size >= FAULTS_MAX || this.#messages.has(message)) return false;
    this.#messages.add(message);
    return true;
  }

  clear(): void {
    this.#messages.clear();
  }
}
