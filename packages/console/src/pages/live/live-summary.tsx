/**
 * Tells screen readers how much has changed, at most every few seconds, and never each change.
 */
import { useEffect, useRef, useState, type VNode } from "../../kit/preact.ts";
import { type ChangeCounts, countsText, NO_CHANGES } from "../../values/live-change.ts";
import type { LiveFeed } from "./live-feed.ts";

const SUMMARY_EVERY_MS = 2000;

export function LiveSummary({ feed }: { readonly feed: LiveFeed }): VNode {
  const [text, setText] = useState("");
  const said = useRef<ChangeCounts>(NO_CHANGES);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => {
    said.current = NO_CHANGES;
    const stop = feed.counts.subscribe((counts) => {
      // Cleared, or nothing yet.
      if (counts === NO_CHANGES) said.current = counts;
      else {
        timer.current ??= setTimeout(() => {
          timer.current = undefined;
          setText(countsText(difference(feed.counts.peek(), said.current)));
          said.current = feed.counts.peek();
        }, SUMMARY_EVERY_MS);
      }
    });
    return () => {
      stop();
      clearTimeout(timer.current);
      timer.current = undefined;
    };
  }, [feed]);
  return (
    <p class="visually-hidden" role="status">
      {text}
    </p>
  );
}

function difference(now: ChangeCounts, before: ChangeCounts): ChangeCounts {
  return {
    insert: now.insert - before.insert,
    update: now.update - before.update,
    delete: now.delete - before.delete,
    leave: now.leave - before.leave,
  };
}
