/**
 * The answer to "why is the document not there?": the sentence, the advice, and the proof below.
 */

import { stringifyExact } from "@bigpeer/client/exact-json";
import type { VNode } from "../../kit/preact.ts";
import { hrefOf } from "../../route/router.ts";
import { Facts } from "../../ui/facts.tsx";
import { StateBadge } from "../../ui/state-badge.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { countText } from "../../values/show-value.ts";
import type { ExplainedSubscription, ExplainedUpload, Explanation } from "./device-answers.ts";
import { type SyncWords, wordsOf } from "./sync-words.ts";

export function ExplanationView({ explanation }: { readonly explanation: Explanation }): VNode {
  const { verdict, reason, subscriptions, uploads } = explanation;
  const words = wordsOf(explanation, Date.now());
  return (
    <section class="card" aria-label="Answer">
      <h2 class="verdict">
        <StateBadge kind={words.kind}>{words.sentence}</StateBadge>
      </h2>
      <Advice words={words} explanation={explanation} />
      <Proof explanation={explanation} />
      {subscriptions.length === 0 ? null : (
        <Table
          label="Subscriptions of the device to the collection"
          columns={SUBSCRIPTION_COLUMNS}
          rows={subscriptions}
          keyOf={({ query, args }) => `${query} ${stringifyExact(args)}`}
        />
      )}
      {uploads.length === 0 ? null : (
        <Table
          label="Writes of the device that did not take effect"
          columns={UPLOAD_COLUMNS}
          rows={uploads}
          keyOf={({ number, txn }) => `${number} ${txn}`}
        />
      )}
      <p class="hint">
        <code>{verdict}</code>: {reason}.
      </p>
    </section>
  );
}

interface AdviceProps {
  readonly words: SyncWords;
  readonly explanation: Explanation;
}

function Advice({ words: { advice, code, page }, explanation }: AdviceProps): VNode {
  const { collection, id } = explanation.document;
  return (
    <>
      <p>{advice}</p>
      {code === undefined ? null : (
        <pre class="code-block" tabIndex={0}>
          {code}
        </pre>
      )}
      {page === "data" ? (
        <p>
          {explanation.verdict === "no_such_document" ? (
            <a href={hrefOf("data", { collection })}>Open the collection {collection}</a>
          ) : (
            <a href={hrefOf("data", { collection, id: stringifyExact(id) })}>Open the document</a>
          )}
        </p>
      ) : null}
      {page === "access" ? (
        <p>
          <a href={hrefOf("access", { tab: "keys" })}>Open the API keys</a>
        </p>
      ) : null}
    </>
  );
}

function Proof({ explanation: { txnIds } }: { readonly explanation: Explanation }): VNode {
  const { documentTxn, sentUpTo, appliedUpTo, serverTxn } = txnIds;
  return (
    <Facts
      facts={[
        ["Last change of the document", transaction(documentTxn)],
        ["Sent to the device up to", transaction(sentUpTo)],
        ["Confirmed by the device", transaction(appliedUpTo)],
        ["Last transaction of the server", transaction(serverTxn)],
      ]}
    />
  );
}

function transaction(id: number | undefined): string | undefined {
  return id === undefined ? undefined : `transaction ${countText(id)}`;
}

const SUBSCRIPTION_COLUMNS: readonly Column<ExplainedSubscription>[] = [
  {
    title: "Matches",
    cell: ({ isMatching, error }) => (
      <StateBadge
        kind={isMatching === true ? "ok" : "err"}
        {...(error !== undefined && { title: error })}
      >
        {error !== undefined ? "failed" : isMatching === true ? "yes" : "no"}
      </StateBadge>
    ),
  },
  {
    title: "May read",
    cell: ({ isPermitted }) =>
      isPermitted === undefined ? (
        ""
      ) : (
        <StateBadge kind={isPermitted ? "ok" : "err"}>{isPermitted ? "yes" : "no"}</StateBadge>
      ),
  },
  { title: "State", cell: ({ state }) => state },
  { title: "Subscription", cell: ({ query }) => <code>{query}</code> },
  {
    title: "Parameters",
    cell: ({ args }) => (Object.keys(args).length === 0 ? "" : <code>{stringifyExact(args)}</code>),
  },
];

const UPLOAD_COLUMNS: readonly Column<ExplainedUpload>[] = [
  { title: "Upload", isNumber: true, cell: ({ number }) => countText(number) },
  { title: "Transaction", isNumber: true, cell: ({ txn }) => countText(txn) },
  { title: "Outcome", cell: ({ outcome }) => <StateBadge kind="err">{outcome}</StateBadge> },
  { title: "Reason", cell: ({ reason }) => reason },
];
