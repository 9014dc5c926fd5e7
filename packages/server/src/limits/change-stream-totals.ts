/**
 * Change stream totals: the limit of open change streams of a server, and their counts. The data API
 * and the console share one, so that both together stay within the limit.
 */

import { CHANGE_STREAMS_MAX, CHANGE_STREAMS_PER_CREDENTIAL_MAX } from "./limits.ts";
import { Shares } from "./shares.ts";

export class ChangeStreamTotals {
  /** Open streams, by the credential that opened them. */
  readonly shares: Shares;
  /** Lines that were sent so far. */
  lineCount = 0;

  constructor(
    max: number = CHANGE_STREAMS_MAX,
    perCredentialMax: number = CHANGE_STREAMS_PER_CREDENTIAL_MAX,
  ) {
    this.shares = new Shares({ max, perOwnerMax: perCredentialMax, areGrouped: true });
  }

  /** Open streams. */
  get count(): number {
    return this.shares.taken;
  }
}
