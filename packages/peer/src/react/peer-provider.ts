/**
 * Peer provider: gives the components below it a peer, and opens and closes it if the app wants so.
 */

import { PeerContext, type Provided } from "./peer-context.ts";
import { PeerSource, type PeerState } from "./peer-source.ts";
import type { ProvidedPeer } from "./provided-peer.ts";
import {
  createElement,
  type ReactElement,
  type ReactNode,
  useEffect,
  useMemo,
  useSyncExternalStore,
} from "./react.ts";

interface GivenPeer {
  /** A peer, or a promise of one. The app closes it. */
  readonly peer: ProvidedPeer | Promise<ProvidedPeer>;
  readonly open?: undefined;
  readonly options?: undefined;
  readonly startSync?: undefined;
}

interface OpenedPeer<Options> {
  readonly peer?: undefined;
  /**
   * Opens the peer, such as `openPeer`. The provider calls it when it is mounted, and closes the peer
   * when it is unmounted. Another function later has no effect: give the provider another `key`.
   */
  readonly open: (options: Options) => Promise<ProvidedPeer>;
  /** The argument of `open`. Other options later have no effect: give the provider another `key`. */
  readonly options?: Options;
  /** Whether the provider starts the sync of the peer. The default is `true`. */
  readonly startSync?: boolean;
}

/**
 * The properties of {@link PeerProvider}.
 *
 * @example
 * const options: PeerOptions = { appId, url: dataUrl, token: apiKey, memory: true };
 * const properties: PeerProviderProps<PeerOptions> = { open: openPeer, options };
 */
export type PeerProviderProps<Options = unknown> = (GivenPeer | OpenedPeer<Options>) & {
  /**
   * Shown instead of the children until the peer is open. A function receives the error if the peer
   * cannot be opened. Without it, the children are rendered at once, and their hooks are loading.
   */
  readonly fallback?: ReactNode | ((error: Error | undefined) => ReactNode);
  readonly children?: ReactNode;
};

/**
 * Gives the hooks in the components below it a peer.
 *
 * If the peer cannot be opened, a function as `fallback` receives the error. With another `fallback`
 * the provider throws it, for the nearest error boundary. Without one the hooks return it.
 *
 * @param props - A peer, or how to open one; the components below; what to show before.
 */
export function PeerProvider<Options = unknown>(props: PeerProviderProps<Options>): ReactElement {
  const { peer, fallback, children } = props;
  const source = useMemo(() => sourceOf(props), [peer]);
  useEffect(() => source.mount(), [source]);
  const state = useSyncExternalStore(
    useMemo(() => (listener: () => void) => source.listen(listener), [source]),
    () => source.state,
    () => source.state,
  );
  const value = useMemo((): Provided => ({ ...state, source }), [source, state]);
  return createElement(PeerContext.Provider, { value }, shown(state, fallback, children));
}

function sourceOf<Options>(props: PeerProviderProps<Options>): PeerSource {
  if (props.open !== undefined) {
    const { open, options, startSync = true } = props;
    return new PeerSource({
      isOwned: true,
      open: async () => {
        const peer = await open(options as Options);
        if (startSync) peer.sync.start();
        return peer;
      },
    });
  }
  const { peer } = props;
  if (typeof peer !== "object" || peer === null) {
    throw new Error(`expected peer or open as a property of PeerProvider, found ${typeof peer}`);
  }
  return "then" in peer
    ? new PeerSource({ isOwned: false, open: () => peer })
    : PeerSource.of(peer);
}

function shown(
  { values, error }: PeerState,
  fallback: PeerProviderProps["fallback"],
  children: ReactNode,
): ReactNode {
  if (values !== undefined || fallback === undefined) return children;
  if (typeof fallback === "function") return fallback(error);
  if (error !== undefined) throw error;
  return fallback;
}
