/**
 * See as: reads run with the permission of a key or of a user, so the result is what they would see.
 * The choice is in the address.
 */

import { stringifyExact } from "@bigpeer/client/exact-json";
import { request } from "../../api/request.ts";
import { ofApp } from "../../api/session.ts";
import { useState, type VNode } from "../../kit/preact.ts";
import { useLoad } from "../../kit/use-load.ts";
import { route, setQuery } from "../../route/router.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { type Choice, SelectField, TextArea, TextField } from "../../ui/field.tsx";
import { formatReadAs, parseReadAs, type ReadAs, readAsName } from "../../values/read-as.ts";
import { readArguments } from "../../values/statement-text.ts";

/** Undefined is full permission. */
export function seeAsOfRoute(): ReadAs | undefined {
  return parseReadAs(route.value.query["as"]);
}

export function SeeAs({ app }: { readonly app: string }): VNode {
  const [isOpen, setOpen] = useState(false);
  const as = seeAsOfRoute();
  return (
    <>
      <Button
        title="Read with the permission of a key or a user"
        isPressed={as !== undefined}
        onClick={() => setOpen(true)}
      >
        See as: {as === undefined ? "everything" : readAsName(as)}
      </Button>
      {isOpen ? <SeeAsDialog app={app} as={as} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

interface SeeAsDialogProps {
  readonly app: string;
  readonly as: ReadAs | undefined;
  readonly onClose: () => void;
}

interface Callers {
  readonly keys: readonly string[];
  /** Providers whose users the server can tell by their claims. */
  readonly providers: readonly string[];
}

interface Named {
  readonly name: string;
  readonly config?: { readonly type?: string };
}

async function loadCallers(app: string, signal: AbortSignal): Promise<Callers> {
  const [keys, providers] = await Promise.all(
    ["/apiKey?size=1000", "/provider?size=1000"].map((path) => {
      return request<{ readonly data: readonly Named[] }>(ofApp(app, path), { signal });
    }),
  );
  const known = providers?.data.filter(({ config }) => config?.type !== "webhook") ?? [];
  return {
    keys: keys?.data.map(({ name }) => name) ?? [],
    providers: known.map(({ name }) => name),
  };
}

function SeeAsDialog({ app, as, onClose }: SeeAsDialogProps): VNode {
  const loaded = useLoad(app, (signal) => loadCallers(app, signal));
  const [who, setWho] = useState(whoOf(as));
  const [userId, setUserId] = useState(as !== undefined && "userId" in as ? (as.userId ?? "") : "");
  const [claims, setClaims] = useState(claimsText(as));
  const { args, fault } = readArguments(claims);
  const isUser = who.startsWith("provider ");
  const isReady = !isUser || (fault === undefined && userId.trim() !== "");
  const choose = (): void => {
    const hasClaims = Object.keys(args).length > 0;
    const name = who.slice(who.indexOf(" ") + 1);
    const user = { provider: name, userId: userId.trim(), ...(hasClaims && { claims: args }) };
    const chosen = who === "" ? undefined : isUser ? user : { key: name };
    setQuery({ as: formatReadAs(chosen) });
    onClose();
  };
  return (
    <Dialog
      title="See as"
      size="small"
      onClose={onClose}
      onSubmit={choose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button isSubmit kind="primary" isDisabled={!isReady}>
            Choose
          </Button>
        </>
      }
    >
      <p class="muted">Reads return only what this key or user may see. Nothing is written.</p>
      <ErrorMessage error={loaded.error} onRetry={() => void loaded.reload()} />
      <SelectField
        label="Who"
        value={who}
        choices={choicesOf(loaded.value, who)}
        onChange={setWho}
      />
      {isUser ? (
        <>
          <TextField label="User id" value={userId} onInput={setUserId} isRequired />
          <TextArea
            label="Claims of the token, a JSON object"
            value={claims}
            onInput={setClaims}
            rows={4}
            fault={fault}
            placeholder='{"store": "oslo"}'
          />
        </>
      ) : null}
    </Dialog>
  );
}

function choicesOf(callers: Callers | undefined, who: string): readonly Choice[] {
  const choices = [
    { value: "", title: "Everything (full permission)" },
    ...(callers?.keys ?? []).map((name) => ({ value: `key ${name}`, title: `Key ${name}` })),
    ...(callers?.providers ?? []).map((name) => {
      return { value: `provider ${name}`, title: `User of ${name}` };
    }),
  ];
  // The choice of the address, before the names are loaded.
  const isListed = choices.some(({ value }) => value === who);
  return isListed ? choices : [...choices, { value: who, title: who }];
}

function whoOf(as: ReadAs | undefined): string {
  if (as === undefined) return "";
  if ("key" in as) return `key ${as.key}`;
  return "provider" in as ? `provider ${as.provider}` : "";
}

function claimsText(as: ReadAs | undefined): string {
  const claims = as !== undefined && "claims" in as ? as.claims : undefined;
  return claims === undefined ? "" : stringifyExact(claims, 2);
}
