/**
 * Content nodes: the contents of attachments on the other nodes of the cluster. An upload is stored
 * on a second node before its record is logged; a content that is not here is fetched from a node
 * that has it.
 */

import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import type { Store } from "@bigpeer/engine/store";
import { PeerError, type Value, type ValueObject } from "@bigpeer/protocol";
import type { Attachment } from "../attachments/attachment-files.ts";
import type { AttachmentNodes } from "../attachments/attachment-folder.ts";
import { isElsewhere } from "../http/refusal.ts";
import { describeError, type Log } from "../observability/log.ts";
import type { NodeClient } from "./node-client.ts";
import type { OtherNode, OtherNodes } from "./other-nodes.ts";

/** How long an upload waits until the store here has its record, which is durable already. */
const REACHED_MS_MAX = 5_000;

export interface ContentNodesHost {
  readonly client: Pick<NodeClient, "stream">;
  readonly nodes: OtherNodes;
  /** Calls a procedure of the node that evaluates a store. */
  readonly atEvaluator: (store: string, name: string, value: ValueObject) => Promise<ValueObject>;
  readonly log: Log;
}

/** An app whose attachments are shared. */
export interface ContentApp {
  readonly id: string;
  readonly store: Store;
}

export function contentNodes(app: ContentApp, host: ContentNodesHost): AttachmentNodes {
  return {
    push: (content, path) => push(app.id, content, path, host),
    attach: (content, by) => attach(app, content, by, host),
    fetch: (content, take) => fetchContent(app.id, content, take, host),
  };
}

/** Adds the record of a content to the store, which must be evaluated here. Returns its txnId. */
export async function attachHere(store: Store, content: Attachment, by: string): Promise<number> {
  const { id, len } = content;
  const attached = store.transact((transaction) => {
    transaction.apply([{ kind: "attach", id, len, by }]);
  });
  const { txnId } = await store.answered(attached);
  return txnId;
}

async function push(
  app: string,
  content: Attachment,
  path: string,
  host: ContentNodesHost,
): Promise<void> {
  if ((await holders(app, content, host)).length > 0) return;
  const { nodes, client, log } = host;
  for (const node of ordered(nodes.alive, content.id)) {
    try {
      await nodes.whileAlive(node, async (signal) => {
        const stream = content.len === 0 ? Readable.from([]) : createReadStream(path);
        const { status, body } = await client.stream(node.url, {
          method: "PUT",
          path: pathOf(app, content.id),
          headers: { "content-type": "application/octet-stream" },
          body: { stream, size: content.len },
          signal,
        });
        body.resume();
        if (status !== 200) throw new Error(`expected the status 200, found ${status}`);
      });
      return;
    } catch (error) {
      log("warn", `failed to copy an attachment to ${node.node}: ${describeError(error)}`);
    }
  }
  const message = "no other node of the cluster could store a copy of the attachment; retry";
  throw new PeerError("store.busy", message);
}

async function attach(
  { id: appId, store }: ContentApp,
  content: Attachment,
  by: string,
  { atEvaluator }: ContentNodesHost,
): Promise<void> {
  if (!store.isFollowing) {
    try {
      await attachHere(store, content, by);
      return;
    } catch (error) {
      if (!isElsewhere(error)) throw error;
    }
  }
  // It may be sent twice: a record that is there is left as it is.
  const { id, len } = content;
  const { txnId } = await atEvaluator(appId, "attach", { store: appId, id, len, by });
  const wait = store.whenReached(Number(txnId));
  const timer = setTimeout(() => wait.cancel(), REACHED_MS_MAX);
  try {
    await wait.promise;
  } finally {
    clearTimeout(timer);
  }
}

async function fetchContent(
  app: string,
  content: Attachment,
  take: (bytes: AsyncIterable<Uint8Array>) => Promise<void>,
  host: ContentNodesHost,
): Promise<boolean> {
  const { nodes, client, log } = host;
  for (const node of await holders(app, content, host)) {
    try {
      await nodes.whileAlive(node, async (signal) => {
        const request = { method: "GET", path: pathOf(app, content.id), signal };
        const { status, body } = await client.stream(node.url, request);
        if (status !== 200) {
          body.destroy();
          throw new Error(`expected the status 200, found ${status}`);
        }
        await take(body);
      });
      return true;
    } catch (error) {
      log("warn", `failed to fetch an attachment from ${node.node}: ${describeError(error)}`);
    }
  }
  return false;
}

/** Nodes that have the content. All are asked at once. */
async function holders(
  app: string,
  { id, len }: Attachment,
  { nodes }: ContentNodesHost,
): Promise<OtherNode[]> {
  const replies = await nodes.askAll("has_content", { app, id, len });
  return replies.filter(({ answer }) => isTrue(answer)).map(({ node }) => node);
}

function isTrue(answer: Value): boolean {
  return answer === true;
}

/** Contents are spread over the nodes by their ids. */
function ordered(nodes: readonly OtherNode[], id: string): OtherNode[] {
  const first = id.charCodeAt(0) % Math.max(1, nodes.length);
  return [...nodes.slice(first), ...nodes.slice(0, first)];
}

function pathOf(app: string, id: string): string {
  return `/content/${app}/${id}`;
}
