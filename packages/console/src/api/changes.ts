/**
 * The change feed of an app, read as a stream under the session of the console.
 */
import { EventReader, type StreamEvent } from "../values/event-stream.ts";
import { requestRaw } from "./request.ts";
import { ofApp } from "./session.ts";

export interface FollowOptions {
  /** Undefined is all. */
  readonly collection: string | undefined;
  /** A filter, such as `status == 'open'`. */
  readonly query: string | undefined;
  /** Continues after this cursor; undefined is from now on. */
  readonly since: string | undefined;
  readonly signal: AbortSignal;
}

/** Yields the events of each piece that arrives. Ends with the stream; a failure is an `ApiError`. */
export async function* followChanges(
  app: string,
  { collection, query, since, signal }: FollowOptions,
): AsyncGenerator<readonly StreamEvent[]> {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries({ collection, query, since })) {
    if (value !== undefined && value !== "") search.set(name, value);
  }
  const path = ofApp(app, `/store/changes?${search.toString()}`);
  const { body } = await requestRaw(path, { signal });
  if (body === null) return;
  const pieces = body.pipeThrough(new TextDecoderStream()).getReader();
  const reader = new EventReader();
  try {
    for (;;) {
      const { done, value } = await pieces.read();
      if (done) return;
      yield reader.push(value);
    }
  } finally {
    await pieces.cancel().catch(() => undefined);
  }
}
