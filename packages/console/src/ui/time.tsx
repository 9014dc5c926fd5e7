/**
 * A time relative to now, with the exact one as its tooltip.
 */
import type { VNode } from "../kit/preact.ts";
import { agoText } from "../values/time-text.ts";

/** `at` is text in RFC 3339 form, or milliseconds since 1970. */
export function Time({ at }: { readonly at: string | number | null | undefined }): VNode {
  if (at === null || at === undefined) return <span class="muted">never</span>;
  const date = new Date(at);
  const exact = date.toISOString();
  return (
    <time dateTime={exact} title={exact}>
      {agoText(date.getTime(), Date.now())}
    </time>
  );
}
