/**
 * What a peer knows of the others, from what it was told and nothing else.
 */

import type { PresenceMessage, PresentPeer, ServerMessage } from "@bigpeer/protocol";

export class PresenceView {
  readonly peers: Map<number, PresentPeer> = new Map();
  total = 0;
  /** How often the list began anew, and how many messages came. */
  lists = 0;
  messages = 0;

  hear(messages: readonly ServerMessage[]): this {
    for (const message of messages) if (message.t === "presence") this.#take(message);
    return this;
  }

  get keys(): string[] {
    return Array.from(this.peers.values(), ({ key }) => key);
  }

  #take({ isWhole, total, peers, gone }: PresenceMessage): void {
    this.messages++;
    if (isWhole === true) {
      this.lists++;
      this.peers.clear();
    } else if (this.lists === 0) throw new Error("expected a whole list first");
    this.total = total;
    for (const peer of peers) this.peers.set(peer.session, peer);
    for (const session of gone) this.peers.delete(session);
  }
}
