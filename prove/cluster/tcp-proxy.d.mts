/** Types of tcp-proxy.mjs, for tests. */

export class TcpProxy {
  /** `target` returns the port of the server, or undefined while there is none. */
  static open(target: () => number | undefined): Promise<TcpProxy>;
  /** The port to connect to. */
  readonly port: number;
  readonly state: "open" | "cut" | "stalled";
  /** Resets all connections and refuses new ones. */
  cut(): void;
  /** Holds everything back, in both directions, and new connections as well. */
  stall(): void;
  /** Forwards again, beginning with what was held back. */
  resume(): void;
  close(): Promise<void>;
}
