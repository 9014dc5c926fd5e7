/**
 * Attached page: what the host of a peer asks of the connection to one of its pages.
 */

import type { PeerError } from "@bigpeer/protocol";
import type { PeerEvents } from "../../peer-events.ts";
import type { Answers, PageOptions, Question } from "../messages.ts";

export interface AttachedPage {
  readonly options: PageOptions;
  readonly isClosed: boolean;
  ask<Asked extends Question>(question: Asked): Promise<Answers[Asked["kind"]]>;
  emit<Name extends keyof PeerEvents>(name: Name, details: PeerEvents[Name]): void;
  /** The peer is in another worker; without a URL only a reload helps. */
  move(url: string | undefined, protocol: number): void;
  /**
   * The peer closes, and the page gets another one: from now on it learns nothing of this one. What
   * waits for the page ends with the error.
   */
  suspend(error: PeerError): void;
  /** The page must open the peer again. */
  restart(): void;
  /** The peer is closed for good. */
  end(): void;
}
