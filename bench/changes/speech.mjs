/**
 * How readers of changes speak to each server: what they request, and when they follow. They count
 * events with a change; markers have no `type`.
 */
import { EventClient } from "./event-client.mjs";

const CHANGE = Buffer.from('data: {"type":');
const READY = Buffer.from('"marker":"ready"');

function countChanges(bytes) {
  let count = 0;
  for (let at = bytes.indexOf(CHANGE); at >= 0; at = bytes.indexOf(CHANGE, at + CHANGE.length)) {
    count++;
  }
  return count;
}

/** `own`: each reader follows another value. */
function pathOf(i, { follows }) {
  const query = new URLSearchParams({ collection: "cars" });
  if (follows === "own") {
    query.set("query", "holder == :me");
    query.set("args", JSON.stringify({ me: `holder ${i}` }));
  }
  return `/api/v4/store/changes?${query}`;
}

function speech(open) {
  return {
    open,
    count: countChanges,
    begin: () => false,
    hear: (_client, _i, bytes) => bytes.includes(READY),
  };
}

export function changeFeed(given) {
  const { token } = given;
  return speech((options) =>
    EventClient.open({ ...options, token, path: pathOf(options.number, given) }),
  );
}

export function bareEvents() {
  return speech((options) => EventClient.open(options));
}
