/**
 * Why a document is on a device or not: a sentence, what to do, and the proof. The question is in
 * the address.
 */

import { stringifyExact } from "@bigpeer/client/exact-json";
import { useCollectionNames } from "../../api/collection-names.ts";
import { request } from "../../api/request.ts";
import { ofApp } from "../../api/session.ts";
import { useEffect, useState, type VNode } from "../../kit/preact.ts";
import { useLoad } from "../../kit/use-load.ts";
import { route, setQuery } from "../../route/router.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { TextField } from "../../ui/field.tsx";
import type { PageProps } from "../page.ts";
import type { Explanation } from "./device-answers.ts";
import { DeviceField } from "./device-field.tsx";
import { ExplanationView } from "./explanation-view.tsx";

interface Answer {
  readonly items: readonly Explanation[];
}

export function ExplainSync({ app }: PageProps): VNode {
  const { query } = route.value;
  const { collection = "", id = "", device = "" } = query;
  const [form, setForm] = useState({ collection, id, device });
  const collections = useCollectionNames(app);
  const isAsked = collection !== "" && id !== "" && device !== "";
  const { value, error, isLoading, reload } = useLoad(
    stringifyExact([app, collection, id, device]),
    (signal) => explain(app, { collection, id, device }, signal),
  );
  // The address changes by going back, too.
  useEffect(() => setForm({ collection, id, device }), [collection, id, device]);
  const ask = (): void => {
    if (form.collection === collection && form.id === id && form.device === device) void reload();
    else setQuery({ ...form });
  };
  return (
    <>
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          ask();
        }}
      >
        <div class="form-grid">
          <TextField
            label="Collection"
            isRequired
            list={collections}
            value={form.collection}
            onInput={(text) => setForm({ ...form, collection: text })}
          />
          <TextField
            label="Id of the document"
            isRequired
            isCode
            value={form.id}
            onInput={(text) => setForm({ ...form, id: text })}
          />
          <DeviceField
            app={app}
            label="Device"
            value={form.device}
            onChange={(key) => setForm({ ...form, device: key })}
          />
          <div class="field-button">
            <Button kind="primary" isSubmit isDisabled={isAsked && isLoading}>
              Find out
            </Button>
          </div>
        </div>
        <p class="hint">
          Write an id that is not text as JSON: <code>7</code>, <code>{'{"lot": 3}'}</code>.
        </p>
      </form>
      <ErrorMessage error={error} />
      <div aria-live="polite">
        {isAsked
          ? value?.items.map((each) => (
              <ExplanationView
                key={`${each.peer.peerKeyString} ${each.peer.connectedSince ?? ""}`}
                explanation={each}
              />
            ))
          : null}
      </div>
    </>
  );
}

interface Question {
  readonly collection: string;
  readonly id: string;
  readonly device: string;
}

async function explain(
  app: string,
  { collection, id, device }: Question,
  signal: AbortSignal,
): Promise<Answer> {
  if (collection === "" || id === "" || device === "") return { items: [] };
  const query = new URLSearchParams({ collection, id, peer: device });
  return request<Answer>(ofApp(app, `/sync/explain?${query}`), { signal });
}
