/**
 * Stream tickets: short-lived stand-ins for a credential in the URL of a change feed. A page cannot
 * send headers with EventSource, and keys never belong in URLs.
 */

import { randomBytes } from "node:crypto";
import { TICKET_MS_MAX, TICKETS_MAX, TICKETS_PER_CREDENTIAL_MAX } from "../limits/limits.ts";
import { Shares } from "../limits/shares.ts";

/** The header `Authorization` that a ticket stands for, and the app that it was asked for. */
export interface Ticketed {
  readonly authorization: string;
  readonly appId: string | undefined;
}

interface Ticket extends Ticketed {
  readonly owner: string;
  readonly untilMs: number;
}

const TICKET_SIZE = 32;

export class StreamTickets {
  readonly #elapsed: () => number;
  /** In the order in which they expire. */
  readonly #tickets = new Map<string, Ticket>();
  readonly #shares = new Shares({
    max: TICKETS_MAX,
    perOwnerMax: TICKETS_PER_CREDENTIAL_MAX,
    areGrouped: true,
  });

  /** `elapsed` is a monotonic clock. */
  constructor(elapsed: () => number) {
    this.#elapsed = elapsed;
  }

  /** Undefined when there are too many unused tickets. */
  issue(owner: string, ticketed: Ticketed): string | undefined {
    this.#forgetOld();
    if (!this.#shares.take(owner)) return undefined;
    const text = randomBytes(TICKET_SIZE).toString("base64url");
    this.#tickets.set(text, { ...ticketed, owner, untilMs: this.#elapsed() + TICKET_MS_MAX });
    return text;
  }

  /** Takes a ticket out of use; undefined if it is unknown, used or too old. */
  redeem(text: string): Ticketed | undefined {
    this.#forgetOld();
    const ticket = this.#tickets.get(text);
    if (ticket !== undefined) this.#forget(text, ticket);
    return ticket;
  }

  #forgetOld(): void {
    const now = this.#elapsed();
    for (const [text, ticket] of this.#tickets) {
      if (ticket.untilMs > now) return;
      this.#forget(text, ticket);
    }
  }

  #forget(text: string, { owner }: Ticket): void {
    this.#tickets.delete(text);
    this.#shares.give(owner);
  }
}
