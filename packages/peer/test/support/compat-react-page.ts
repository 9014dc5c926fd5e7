/**
 * The page of the tests of `@bigpeer/peer/compat/react`: a list that all hooks have a part in. The
 * renderer comes from the test, in the version that it tests.
 */

import type * as Compat from "../../src/compat/index.ts";
import {
  DittoLazyProvider,
  DittoProvider,
  useConnectionStatus,
  useDitto,
  useExecuteQuery,
  useQuery,
  useRemotePeers,
} from "../../src/compat/react/index.ts";
import { createElement, type ReactElement, type ReactNode } from "../../src/react/react.ts";

/** Where the test serves the bundles. It is an expression, so that it is not bundled. */
const SDK = ["", "sdk", "bigpeer-compat.js"].join("/");

export interface ReactServer {
  readonly url: string;
  readonly appId: string;
  readonly token: string;
}

/** What the page needs of a renderer. */
export interface Renderer {
  render(node: ReactNode): void;
  unmount(): void;
}

/** What the components have last rendered, for the test. */
const seen: Record<string, unknown> = {};

let insert: (args: { readonly title: string }) => Promise<void>;
let fail: () => Promise<void>;

function List(): ReactElement {
  const { items, isLoading, error, syncSubscription } = useQuery<{ title: string }>(
    "SELECT title FROM tasks WHERE title != :no ORDER BY title",
    { queryArguments: { no: "none" }, localOnly: true },
  );
  const synced = useQuery("SELECT * FROM tasks");
  const wrong = useQuery("DELETE FROM tasks", { localOnly: true });
  const [execute, insertion] = useExecuteQuery("INSERT INTO tasks DOCUMENTS ({'title': :title})", {
    queryArguments: { title: "default" },
  });
  const [executeWrong, failed] = useExecuteQuery("SELECT * FORM tasks");
  insert = execute;
  fail = executeWrong;
  const { remotePeers } = useRemotePeers();
  Object.assign(seen, {
    titles: items.map(({ value }) => value.title),
    isLoading,
    error,
    isSubscribed: [syncSubscription !== undefined, synced.syncSubscription !== undefined],
    wrong: (wrong.error as { readonly code?: string } | null)?.code,
    inserted: insertion.mutatedDocumentIDs?.length,
    failure: (failed.error as { readonly code?: string } | null)?.code,
    remoteCount: remotePeers.length,
    isConnected: useConnectionStatus({ forTransport: "WebSocket" }),
    hasBluetooth: useConnectionStatus({ forTransport: "Bluetooth" }),
    hasDitto: useDitto().ditto !== null,
  });
  return createElement("p", undefined, items.length);
}

function Lazy({ path }: { readonly path: string }): ReactElement {
  const { ditto, loading, error } = useDitto(path);
  Object.assign(seen, { lazy: [ditto?.config.persistenceDirectory, loading, error?.message] });
  return createElement("p", undefined, path);
}

async function until(check: () => boolean): Promise<void> {
  const end = Date.now() + 60_000;
  while (!check()) {
    if (Date.now() > end) throw new Error(`expected ${String(check)}: ${JSON.stringify(seen)}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Mounts the components, in the wrapper of the test; returns what they have rendered at the end. */
export async function run(
  root: () => Renderer,
  wrap: (node: ReactNode) => ReactNode,
  { url, appId, token }: ReactServer,
): Promise<Record<string, unknown>> {
  const { Authenticator, Ditto, DittoConfig } = (await import(SDK)) as typeof Compat;
  let setups = 0;
  const setup = async (path: string): Promise<Compat.Ditto> => {
    setups++;
    const ditto = await Ditto.open(new DittoConfig(appId, { mode: "server", url }, path));
    await ditto.auth.setExpirationHandler((self) =>
      self.auth.login(token, Authenticator.DEVELOPMENT_PROVIDER),
    );
    ditto.sync.start();
    return ditto;
  };
  const states: string[] = [];
  const app = root();
  const path = `react ${crypto.randomUUID()}`;
  app.render(
    wrap(
      createElement(DittoProvider, {
        setup: () => setup(path),
        children: ({ loading, error }) => {
          states.push(error?.message ?? String(loading));
          return loading ? null : createElement(List);
        },
      }),
    ),
  );
  await until(() => seen["isConnected"] === true && seen["isLoading"] === false);
  await insert({ title: "Tea" });
  await fail();
  await until(() => JSON.stringify(seen["titles"]) === '["Tea"]' && seen["inserted"] === 1);
  await until(() => seen["failure"] !== undefined);
  app.unmount();
  const lazy = root();
  lazy.render(
    wrap(
      createElement(DittoLazyProvider, {
        setup,
        children: ({ loading }) => (loading ? null : createElement(Lazy, { path: `${path} 2` })),
      }),
    ),
  );
  await until(() => (seen["lazy"] as unknown[] | undefined)?.[0] === `${path} 2`);
  lazy.unmount();
  return { ...seen, lazy: undefined, setups, states: [...new Set(states)] };
}
