/**
 * JSON to read: objects and arrays can be folded. Large ones start folded.
 */

import { stringifyExact } from "@bigpeer/client/exact-json";
import type { VNode } from "../kit/preact.ts";
import { useState } from "../kit/preact.ts";
import { kindOf } from "../values/show-value.ts";

/** Levels that are unfolded at first. */
const OPEN_LEVELS = 3;
/** Entries of one level that are shown before "more". */
const SHOWN_ENTRIES = 100;

export function JsonView({
  value,
  label,
}: {
  readonly value: unknown;
  readonly label: string;
}): VNode {
  return (
    <div class="json-view" role="group" aria-label={label} tabIndex={0}>
      <JsonNode value={value} level={0} />
    </div>
  );
}

interface JsonNodeProps {
  readonly name?: string;
  readonly value: unknown;
  readonly level: number;
}

function JsonNode({ name, value, level }: JsonNodeProps): VNode {
  const isBranch = typeof value === "object" && value !== null && Object.keys(value).length > 0;
  if (isBranch) return <JsonBranch name={name} value={value} level={level} />;
  const text = value === undefined ? "MISSING" : stringifyExact(value);
  return (
    <div class="json-line">
      <JsonName name={name} />
      <span class={`value ${kindOf(value)}`}>{text}</span>
    </div>
  );
}

interface JsonBranchProps {
  readonly name: string | undefined;
  readonly value: object;
  readonly level: number;
}

function JsonBranch({ name, value, level }: JsonBranchProps): VNode {
  const [isOpen, setOpen] = useState(level < OPEN_LEVELS);
  const [count, setCount] = useState(SHOWN_ENTRIES);
  const isArray = Array.isArray(value);
  const entries = Object.entries(value);
  const size = isArray ? `[${entries.length}]` : `{${entries.length}}`;
  return (
    <div class="json-branch">
      <button
        type="button"
        class="json-toggle"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <span class="json-sign" aria-hidden="true" />
        <JsonName name={name} />
        <span class="muted">{size}</span>
      </button>
      {isOpen ? (
        <div class="json-entries">
          {entries.slice(0, count).map(([key, each]) => (
            <JsonNode key={key} name={key} value={each} level={level + 1} />
          ))}
          {entries.length > count ? (
            <button type="button" class="json-toggle" onClick={() => setCount(count * 10)}>
              {entries.length - count} more
            </button>
          ) : null}
        </div>
      ) : null}
    </div>
  );
}

function JsonName({ name }: { readonly name: string | undefined }): VNode | null {
  return name === undefined ? null : <span class="json-name">{name}: </span>;
}
