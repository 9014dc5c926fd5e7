/**
 * NatsBus: short messages between the nodes of a cluster, by plain publish and subscribe of NATS.
 * They reach the nodes that are connected now, at most once, and are stored nowhere.
 */

import { assert, decodeCbor, encodeCbor, PeerError, type Value } from "@bigpeer/protocol";
import type { NatsConnection } from "../../nats/nats-connection.ts";
import type { Bus } from "../bus.ts";
import { subjectOf } from "./nats-subject.ts";

export class NatsBus implements Bus {
  readonly #connection: NatsConnection;
  readonly #cluster: string;

  constructor(connection: NatsConnection, cluster: string) {
    this.#connection = connection;
    this.#cluster = cluster;
  }

  /** Dropped while this node is not connected. */
  publish(topic: string, value: Value): void {
    this.#connection.publish(this.#subjectOf(topic), encodeCbor(value));
  }

  /** Messages that are not CBOR are ignored. */
  subscribe(topic: string, listener: (value: Value) => void): () => void {
    return this.#connection.subscribe(this.#subjectOf(topic), ({ data }) => {
      const value = decode(data);
      if (value !== undefined) listener(value);
    });
  }

  /** A topic is one or more words with dots between them. */
  #subjectOf(topic: string): string {
    assert(/^[\w-]+(\.[\w-]+)*$/.test(topic), "a topic is words with dots between them");
    return subjectOf(this.#cluster, "bus", topic);
  }
}

function decode(bytes: Uint8Array): Value | undefined {
  try {
    return decodeCbor(bytes);
  } catch (error) {
    if (error instanceof PeerError) return undefined;
    throw error;
  }
}
