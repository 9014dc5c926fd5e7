/** Subjects of a cluster of Big Peers: all begin with `bigpeer` and the name of the cluster. */

import { PeerError } from "@bigpeer/protocol";

/** Throws PeerError `config.invalid`: the name is a part of subjects and of stream names. */
export function checkClusterName(name: string): void {
  if (/^[\w-]{1,32}$/.test(name)) return;
  const expected = "1 to 32 letters, digits, `-` or `_`";
  throw new PeerError("config.invalid", `expected a cluster name of ${expected}, found '${name}'`);
}

export function subjectOf(cluster: string, ...parts: readonly string[]): string {
  return ["bigpeer", cluster, ...parts].join(".");
}

/** Where a log lies in JetStream. */
export interface NatsLogPlace {
  /** Name of the app, or of another log. */
  readonly name: string;
  readonly stream: string;
  readonly subject: string;
}
