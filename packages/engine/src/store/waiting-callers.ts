/**
 * Waiting callers: requests whose callers are answered before their outcome is known, when the log
 * of a cluster does not answer. The requests themselves go on to their end: only their callers stop
 * waiting. So code that acts on the outcome of a request waits for the request, not here.
 */

import { PeerError } from "@bigpeer/protocol";

export class WaitingCallers {
  readonly #rejects = new Set<(error: PeerError) => void>();

  get count(): number {
    return this.#rejects.size;
  }

  /** Settles as `work` does, or rejects with `cluster.unanswered` if `release` is called before. */
  answered<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#rejects.add(reject);
      work.then(resolve, reject).finally(() => this.#rejects.delete(reject));
    });
  }

  /** Answers all callers that wait now. */
  release(): void {
    const error = unanswered();
    for (const reject of this.#rejects) reject(error);
    this.#rejects.clear();
  }
}

function unanswered(): PeerError {
  const message =
    "the log of the cluster does not answer, and it is not known whether this was done";
  return new PeerError("cluster.unanswered", message, {
    hint: "retry with the same idempotency key, or look first",
  });
}
