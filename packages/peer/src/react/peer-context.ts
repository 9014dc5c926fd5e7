/**
 * Peer context: how hooks reach the peer of the provider above them, and follow its values.
 */

import type { PeerSource, PeerState } from "./peer-source.ts";
import {
  type Context,
  createContext,
  useCallback,
  useContext,
  useSyncExternalStore,
} from "./react.ts";
import type { Start } from "./shared-values.ts";

/** What a provider gives to the hooks below it. */
export interface Provided extends PeerState {
  readonly source: PeerSource;
}

export const PeerContext: Context<Provided | undefined> = createContext<Provided | undefined>(
  undefined,
);

export function useProvided(): Provided {
  const provided = useContext(PeerContext);
  if (provided === undefined) {
    throw new Error("expected a PeerProvider above the component with this hook, found none");
  }
  return provided;
}

const ABSENT = (): (() => void) => () => {};

/**
 * A value that all components with the same key share; `initial` before its first one, and in server
 * rendering. Without a key there is none. `start` is that of the component that came first.
 */
export function useShared<T>(key: string | undefined, start: Start<T>, initial: T): T {
  const { values } = useProvided();
  // Not of `start`, which is another function each time: what it depends on is in the key.
  const listen = useCallback(
    key === undefined || values === undefined
      ? ABSENT
      : (listener: () => void) => values.listen(key, start, listener),
    [values, key],
  );
  const get = (): T => (key === undefined ? initial : ((values?.get(key) as T) ?? initial));
  return useSyncExternalStore(listen, get, () => initial);
}
