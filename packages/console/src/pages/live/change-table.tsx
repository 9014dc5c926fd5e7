/**
 * The list of changes, the newest first. A row opens to show every field that changed, and the whole
 * document.
 */

import { stringifyExact } from "@bigpeer/client/exact-json";
import { useMemo, useState, type VNode } from "../../kit/preact.ts";
import { hrefOf } from "../../route/router.ts";
import { Empty } from "../../ui/empty.tsx";
import { Icon } from "../../ui/icon.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { Value } from "../../ui/value.tsx";
import {
  changedFields,
  type FieldChange,
  type LiveChange,
  writerName,
} from "../../values/live-change.ts";
import { shortText } from "../../values/show-value.ts";
import { ChangeSign } from "./change-sign.tsx";

export interface ChangeTableProps {
  /** Whether changes can come. */
  readonly isFollowing: boolean;
  readonly changes: readonly LiveChange[];
  readonly isCollectionShown: boolean;
}

/** Fields of an update that fit its row. */
const FIELDS_SHOWN = 3;

export function ChangeTable(props: ChangeTableProps): VNode | null {
  const { changes, isFollowing, isCollectionShown } = props;
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  if (changes.length === 0) {
    if (!isFollowing) return null;
    return (
      <Empty title="No change yet">
        <p>Changes that devices and services write appear here as they happen.</p>
      </Empty>
    );
  }
  const toggle = (key: number): void => {
    const next = new Set(open);
    if (!next.delete(key)) next.add(key);
    setOpen(next);
  };
  return (
    <div class="table-frame">
      <table class="table change-table" aria-label="Changes">
        <thead>
          <tr>
            <th scope="col">
              <span class="visually-hidden">Details</span>
            </th>
            <th scope="col">Time</th>
            <th scope="col">Change</th>
            {isCollectionShown ? <th scope="col">Collection</th> : null}
            <th scope="col">Document</th>
            <th scope="col">What changed</th>
            <th scope="col">By</th>
          </tr>
        </thead>
        <tbody>
          {changes.map((change) => (
            <ChangeRow
              key={change.key}
              change={change}
              isOpen={open.has(change.key)}
              isCollectionShown={isCollectionShown}
              onToggle={() => toggle(change.key)}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface ChangeRowProps {
  readonly change: LiveChange;
  readonly isOpen: boolean;
  readonly isCollectionShown: boolean;
  readonly onToggle: () => void;
}

function ChangeRow({ change, isOpen, isCollectionShown, onToggle }: ChangeRowProps): VNode {
  const { type, at, collection, id, by } = change;
  const idText = shortText(id);
  return (
    <>
      <tr>
        <td>
          <button
            type="button"
            class="button quiet icon-only"
            aria-expanded={isOpen}
            aria-label={`Details of ${idText}`}
            onClick={onToggle}
          >
            <Icon name={isOpen ? "down" : "right"} />
          </button>
        </td>
        <td>
          <time dateTime={at} title={at}>
            {clockText(at)}
          </time>
        </td>
        <td>
          <ChangeSign type={type} />
        </td>
        {isCollectionShown ? <td class="code">{collection}</td> : null}
        <td>
          <DocumentLink change={change} />
        </td>
        <td class="change-what">
          <What change={change} />
        </td>
        <td>{writerName(by)}</td>
      </tr>
      {isOpen ? (
        <tr class="change-details">
          <td colSpan={isCollectionShown ? 7 : 6}>
            <Details change={change} />
          </td>
        </tr>
      ) : null}
    </>
  );
}

/** The time of day here, with milliseconds. */
function clockText(at: string): string {
  const date = new Date(at);
  const ms = String(date.getMilliseconds()).padStart(3, "0");
  return `${date.toTimeString().slice(0, 8)}.${ms}`;
}

function DocumentLink({ change }: { readonly change: LiveChange }): VNode {
  const { type, collection, id } = change;
  if (type === "delete") return <Value value={id} />;
  return (
    <a class="id-link" href={hrefOf("data", { collection, id: stringifyExact(id) })}>
      <Value value={id} />
    </a>
  );
}

function What({ change }: { readonly change: LiveChange }): VNode {
  const { type, document = {}, before = {} } = change;
  // Rows are rendered again whenever others arrive.
  const fields = useMemo(() => changedFields(before, document), [change]);
  if (type !== "update") {
    const { _id, ...others } = type === "insert" ? document : before;
    return <span class="muted code">{shortText(others)}</span>;
  }
  return (
    <>
      {fields.slice(0, FIELDS_SHOWN).map((field) => (
        <span key={field.path} class="field-change">
          <FieldText field={field} />
        </span>
      ))}
      {fields.length > FIELDS_SHOWN ? (
        <span class="muted">, and {fields.length - FIELDS_SHOWN} more</span>
      ) : null}
      {fields.length === 0 ? <span class="muted">no value changed</span> : null}
    </>
  );
}

function FieldText({ field }: { readonly field: FieldChange }): VNode {
  const { path, before, after } = field;
  return (
    <>
      <span class="code muted">{path} </span>
      <Value value={before} />
      <span class="muted"> → </span>
      <span class="visually-hidden">is now </span>
      <Value value={after} />
    </>
  );
}

function Details({ change }: { readonly change: LiveChange }): VNode {
  const { type, document, before, txnId } = change;
  const fields = type === "update" ? changedFields(before ?? {}, document ?? {}) : [];
  const title = document === undefined ? "The document before" : "The document";
  return (
    <div class="change-more">
      {fields.length === 0 ? null : (
        <dl>
          {fields.map((field) => (
            <div key={field.path}>
              <dt class="code muted">{field.path}</dt>
              <dd>
                <del>
                  <Value value={field.before} />
                </del>
                <ins>
                  <Value value={field.after} />
                </ins>
              </dd>
            </div>
          ))}
        </dl>
      )}
      <JsonView value={document ?? before} label={title} />
      <p class="hint">Transaction {txnId}</p>
    </div>
  );
}
