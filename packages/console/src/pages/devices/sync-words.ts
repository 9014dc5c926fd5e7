/**
 * EXPLAIN SYNC in words: a sentence that says whether a document is on a device, and what to do when
 * it should be there and is not.
 */
import { stringifyExact } from "@bigpeer/client/exact-json";
import { quoteName } from "../../values/names.ts";
import { agoText } from "../../values/time-text.ts";
import type { Explanation, Verdict } from "./device-answers.ts";

export interface SyncWords {
  readonly kind: "ok" | "busy" | "warn" | "err";
  readonly sentence: string;
  readonly advice: string;
  /** A line of code that the advice is about. */
  readonly code?: string;
  /** The page that has what the advice is about. */
  readonly page?: "data" | "access";
}

export function wordsOf(explanation: Explanation, nowMs: number): SyncWords {
  return WORDS[explanation.verdict](explanation, nowMs);
}

type Describe = (explanation: Explanation, nowMs: number) => SyncWords;

const WORDS: Readonly<Record<Verdict, Describe>> = {
  on_peer: (explanation) => ({
    kind: "ok",
    sentence: `${documentOf(explanation)} is on ${deviceOf(explanation)}.`,
    advice:
      "The device has confirmed this version. If its app does not show the document, look at the query of the app.",
  }),
  sent: (explanation) => ({
    kind: "busy",
    sentence: `${documentOf(explanation)} was sent to ${deviceOf(explanation)}, which has not confirmed it yet.`,
    advice: "Nothing to do: a device confirms within 30 seconds. Ask again then.",
  }),
  queued: (explanation) => ({
    kind: "busy",
    sentence: `${documentOf(explanation)} was sent, and waits for ${deviceOf(explanation)} to read it.`,
    advice: "The connection of the device is slow or stalled. Check its network, then ask again.",
  }),
  not_yet_sent: notYetSent,
  not_subscribed: notSubscribed,
  not_permitted: (explanation) => ({
    kind: "err",
    sentence: `${deviceOf(explanation, "start")} may not read ${documentOf(explanation, "inside")} as it is now.`,
    advice:
      "Change the read permission of its API key, provider or token, or the fields of the document that the permission compares.",
    page: "access",
  }),
  refused: (explanation) => ({
    kind: "err",
    sentence: `${deviceOf(explanation, "start")} wrote ${documentOf(explanation, "inside")}, and the server refused the write${lastReason(explanation)}.`,
    advice:
      "The device has rolled the write back. Remove the cause, such as a missing write permission, and write again on the device.",
    page: "access",
  }),
  stale: (explanation) => ({
    kind: "err",
    sentence: `${deviceOf(explanation, "start")} wrote ${documentOf(explanation, "inside")}, and the write came too late.`,
    advice:
      "The device was away for longer than the server keeps tombstones, so the server quarantined its write. Write it again on the device.",
  }),
  no_such_document: noSuchDocument,
  not_connected: notConnected,
};

function notYetSent(explanation: Explanation): SyncWords {
  const states = new Set(
    explanation.subscriptions
      .filter(({ isMatching }) => isMatching === true)
      .map(({ state }) => state),
  );
  const [document, device] = [documentOf(explanation), deviceOf(explanation)];
  if (states.has("live")) {
    return {
      kind: "busy",
      sentence: `${document} is about to be sent to ${device}.`,
      advice: "Nothing to do. Ask again in a moment.",
    };
  }
  if (states.has("behind")) {
    return {
      kind: "warn",
      sentence: `${document} waits, because ${device} does not read fast enough.`,
      advice:
        "Check the network of the device and whether its app is busy. It catches up by itself.",
    };
  }
  return {
    kind: "busy",
    sentence: `${document} was not sent yet: the first transfer to ${device} is still running.`,
    advice: "Wait for the end of the first transfer. A query with fewer documents ends sooner.",
  };
}

function notSubscribed(explanation: Explanation): SyncWords {
  const { collection } = explanation.document;
  const { subscriptions } = explanation;
  if (subscriptions.length === 0) {
    return {
      kind: "err",
      sentence: `${deviceOf(explanation, "start")} has no subscription to the collection ${collection}, so the server sends nothing of it.`,
      advice: "Let the app on the device subscribe to the collection:",
      code: `peer.sync.registerSubscription("SELECT * FROM ${quoteName(collection)}")`,
    };
  }
  const failed = subscriptions.find(({ error }) => error !== undefined);
  const which =
    subscriptions.length === 1
      ? "the subscription below does not match"
      : `none of the ${subscriptions.length} subscriptions below matches`;
  return {
    kind: "err",
    sentence: `${documentOf(explanation)} is not meant for ${deviceOf(explanation)}: ${which} the document as it is now.`,
    advice:
      failed === undefined
        ? "Change the fields of the document that the subscription compares, or let the app on the device subscribe to more."
        : `A condition could not be evaluated: ${failed.error}`,
    page: "data",
  };
}

function noSuchDocument(explanation: Explanation): SyncWords {
  const { collection, isDeleted, changedAt } = explanation.document;
  if (isDeleted) {
    return {
      kind: "warn",
      sentence: `${documentOf(explanation)} was deleted in transaction ${changedAt ?? "?"}.`,
      advice: "If it should be there, insert it again.",
      page: "data",
    };
  }
  return {
    kind: "err",
    sentence: `The server has no such document in ${collection}.`,
    advice:
      'Check the collection and the type of the id: 7 and "7" are different ids. If another device wrote the document, look whether that device has writes that are still pending.',
    page: "data",
  };
}

function notConnected(explanation: Explanation, nowMs: number): SyncWords {
  const { lastSeen, status } = explanation.peer;
  if (status === undefined && lastSeen === undefined) {
    return {
      kind: "err",
      sentence: "The server knows no device with this key.",
      advice:
        "Check the key, the app and the address that the device connects to. A device appears here when it has connected once.",
    };
  }
  const seen = lastSeen === undefined ? "" : `; it was seen ${agoText(lastSeen, nowMs)}`;
  return {
    kind: "warn",
    sentence: `${deviceOf(explanation, "start")} is not connected${seen}.`,
    advice: "Check its network and whether its app has started sync. It catches up by itself.",
  };
}

function lastReason({ uploads }: Explanation): string {
  const reason = uploads.at(-1)?.reason;
  return reason === undefined ? "" : `: ${reason}`;
}

function documentOf({ document }: Explanation, place: "start" | "inside" = "start"): string {
  const name = `document ${idText(document.id)} of ${document.collection}`;
  return place === "start" ? `The ${name}` : `the ${name}`;
}

/** By its name; a device without one by the beginning of its key. */
function deviceOf({ peer }: Explanation, place: "start" | "inside" = "inside"): string {
  const { deviceName, peerKeyString } = peer;
  if (deviceName !== undefined && deviceName !== "") return deviceName;
  return `${place === "start" ? "The" : "the"} device ${peerKeyString.slice(0, 8)}`;
}

export function idText(id: unknown): string {
  return typeof id === "string" ? id : stringifyExact(id);
}
