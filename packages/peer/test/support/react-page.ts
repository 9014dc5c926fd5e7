/**
 * The page of the tests of the React hooks in real browsers: small apps that a test mounts, and
 * counts of their renders. The page has a peer as `peer`, and `openPeer`.
 */

import {
  createElement,
  Fragment,
  memo,
  type ReactElement,
  type ReactNode,
  StrictMode,
  startTransition,
  useLayoutEffect,
  useState,
} from "react";
import { createRoot, hydrateRoot, type Root } from "react-dom/client";
import { renderToString } from "react-dom/server";
import {
  PeerProvider,
  type ProvidedPeer,
  useAttachment,
  useMutation,
  usePeer,
  usePresence,
  useQuery,
  useSubscription,
  useSyncStatus,
} from "../../src/react/index.ts";

interface PageGlobals {
  readonly document: {
    readonly body: PageElement;
    createElement(name: string): PageElement;
    querySelectorAll(selector: string): Iterable<PageElement>;
  };
  readonly peer: ProvidedPeer;
  readonly openPeer: (options: object) => Promise<ProvidedPeer>;
}

interface PageElement {
  textContent: string;
  innerHTML: string;
  append(child: PageElement): void;
}

const page = globalThis as unknown as PageGlobals;
const { document } = page;

/** How often each component was rendered. */
const renders: Record<string, number> = {};
/** Texts of components that showed different results at the same time. */
const tears: string[] = [];
/** The calls of the peer that a provider opened itself. */
const calls: string[] = [];
/** Errors and warnings that the renderer or the peer reported. */
const faults: string[] = [];

for (const name of ["error", "warn"] as const) {
  console[name] = (...words: unknown[]) => void faults.push(words.join(" "));
}

function count(name: string): void {
  renders[name] = (renders[name] ?? 0) + 1;
}

interface Counted {
  readonly _id: string;
  readonly n: number;
}

const Row = memo(({ row: { _id: id, n } }: { readonly row: Counted }): ReactElement => {
  count("Row");
  return createElement("li", null, `${id} ${n}`);
});

function Rows(): ReactElement {
  count("Rows");
  const { rows, isLoading } = useQuery<Counted>("SELECT * FROM rows ORDER BY _id");
  if (isLoading) return createElement("p", null, "loading");
  const ids = rows.map(({ _id }) => _id);
  return createElement(
    "ul",
    null,
    rows.map((row, i) => createElement(Row, { row, key: ids[i] })),
  );
}

const SLOW_MS = 3;

/** So slow that the renderer lets other work in between. */
function Slow(): ReactElement {
  const { rows } = useQuery<Counted>("SELECT * FROM rows WHERE _id = :id", { id: "a" });
  const end = performance.now() + SLOW_MS;
  while (performance.now() < end);
  return createElement("b", null, String(rows[0]?.n));
}

let setGeneration: (generation: number) => void = () => {};

function Torn(): ReactElement {
  const [generation, set] = useState(0);
  setGeneration = set;
  useLayoutEffect(() => {
    const texts = [...document.querySelectorAll("b")].map(({ textContent }) => textContent);
    if (new Set(texts).size > 1) tears.push(texts.join());
  });
  const slow = Array.from({ length: 12 }, (_, i) => createElement(Slow, { key: i }));
  return createElement(Fragment, { key: generation % 2 }, slow);
}

function Status(): ReactElement {
  const { isReady, error } = useSubscription("SELECT * FROM rows");
  const { isConnected, pendingCount } = useSyncStatus();
  const { remotePeers, localPeer } = usePresence();
  const { rows } = useQuery<Counted>("SELECT * FROM rows ORDER BY _id");
  const {
    execute,
    isLoading,
    error: failure,
  } = useMutation("INSERT INTO rows DOCUMENTS ({'_id': :id, 'n': 0})");
  const add = (): void => void execute({ id: "mine" });
  const state = {
    isReady,
    error: error?.message,
    isConnected,
    pendingCount,
    others: remotePeers.map(({ deviceName }) => deviceName),
    hasLocalPeer: localPeer !== undefined,
    rows: rows.map(({ _id }) => _id),
    isLoading,
    failure: (failure as { code?: string } | undefined)?.code,
  };
  return createElement(
    Fragment,
    null,
    createElement("button", { onClick: add }, "add"),
    createElement("pre", null, JSON.stringify(state)),
  );
}

interface WithPhoto {
  readonly photo: { readonly id: string; readonly len: number };
}

function Photo(): ReactElement | string {
  useSubscription("SELECT * FROM photos");
  const { rows } = useQuery<WithPhoto>("SELECT photo FROM photos");
  const { url, error, isLoading, received, total } = useAttachment(rows[0]?.photo);
  if (url !== undefined) return createElement("img", { src: url, alt: `${received} of ${total}` });
  return error?.message ?? `${isLoading}`;
}

function Faulty(): ReactElement {
  const { error, rows, isLoading } = useQuery("SELECT * FROM");
  const { code } = (error ?? {}) as { code?: string };
  return createElement("p", null, `${code} ${rows.length} ${isLoading}`);
}

function Own(): ReactElement {
  const peer = usePeer();
  return createElement(Fragment, null, createElement("p", null, peer?.appId), createElement(Rows));
}

const APPS = { Rows, Torn, Status, Photo, Faulty, Own };

type AppName = keyof typeof APPS;

interface Wish {
  readonly app: AppName;
  readonly isStrict?: boolean;
  /** Options with which the provider opens a peer itself. */
  readonly options?: object;
}

function elementOf({ app, isStrict = false, options }: Wish): ReactElement {
  const child: ReactNode = createElement(APPS[app]);
  const provider =
    options === undefined
      ? createElement(PeerProvider, { peer: page.peer }, child)
      : createElement(PeerProvider<object>, { open, options }, child);
  return isStrict ? createElement(StrictMode, null, provider) : provider;
}

let own: ProvidedPeer | undefined;

async function open(options: object): Promise<ProvidedPeer> {
  calls.push("open");
  const opened = await page.openPeer(options);
  own = opened;
  const close = opened.close.bind(opened);
  opened.close = () => {
    calls.push("close");
    return close();
  };
  return opened;
}

let root: Root | undefined;
const place = document.createElement("main");
document.body.append(place);

const options = {
  onRecoverableError: (error: unknown) => void faults.push(String(error)),
};

function mount(wish: Wish): void {
  root = createRoot(place as never, options);
  root.render(elementOf(wish));
}

function unmount(): void {
  root?.unmount();
  root = undefined;
}

/** Renders as a server does, then lets the page take over. Returns the text of the server. */
function hydrate(wish: Wish): string {
  place.innerHTML = renderToString(elementOf(wish));
  const { innerHTML } = place;
  root = hydrateRoot(place as never, elementOf(wish), options);
  return innerHTML;
}

const BATCH = 500;

/** Inserts rows with numbers as ids. */
async function fill(size: number): Promise<void> {
  for (let from = 0; from < size; from += BATCH) {
    const ids = Array.from({ length: BATCH }, (_, i) => String(from + i).padStart(6, "0"));
    const args = Object.fromEntries(ids.map((_id) => [`d${_id}`, { _id, n: 0 }]));
    const names = ids.map((id) => `(:d${id})`).join(", ");
    await page.peer.store.execute(`INSERT INTO rows DOCUMENTS ${names}`, args);
  }
}

/** Replaces all components in a transition, again and again, while their row changes. */
async function tear(times: number): Promise<number> {
  for (let i = 1; i <= times; i++) {
    startTransition(() => setGeneration(i));
    await page.peer.store.execute("UPDATE rows SET n = :i WHERE _id = 'a'", { i });
  }
  return times;
}

Object.assign(globalThis, {
  reactPage: {
    renders,
    tears,
    calls,
    faults,
    mount,
    unmount,
    hydrate,
    fill,
    tear,
    text: () => place.textContent,
    isOwnClosed: () => own?.isClosed,
  },
});
