/**
 * A connected peer that is spoken message by message and answers statements as a test says.
 */

import type { AnswerMessage, PeerDescription, RunMessage } from "@bigpeer/protocol";
import { SyncClient } from "./sync-client.ts";

/** What comes of a run; `end` is put together from what is given. */
export interface GivenAnswer extends Partial<Pick<AnswerMessage, "items">> {
  readonly end?: Partial<NonNullable<AnswerMessage["end"]>>;
}

export interface ConnectedPeer {
  readonly client: SyncClient;
  readonly peer: PeerDescription;
}

/** Dials, says hello with this description, and is welcomed. */
export async function connectPeer(
  url: string,
  token: string,
  changes: Partial<PeerDescription> = {},
): Promise<ConnectedPeer> {
  const key = changes.key ?? "pk-1";
  const made = { deviceName: "till", os: "linux", sdk: "bigpeer-node/0.1.0", metadata: {} };
  const peer = { key, ...made, ...changes };
  const site = Buffer.from(key.padEnd(8, "0").slice(-8)).toString("hex");
  const client = await SyncClient.greet(url, token, {}, { peer, site });
  await client.nextOf("welcome");
  return { client, peer };
}

/** The next statement that the peer is asked to run. */
export function nextRun({ client }: ConnectedPeer): Promise<RunMessage> {
  return client.nextOf("run");
}

export function answerRun({ client }: ConnectedPeer, id: number, given: GivenAnswer = {}): void {
  const { items = [], end = {} } = given;
  client.send({
    t: "answer",
    id,
    items,
    end: { elapsedMs: 3, warnings: [], totalWarnings: 0, ...end },
  });
}
