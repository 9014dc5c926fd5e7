/**
 * Ditto lazy provider: sets up an instance when a hook first asks for its directory.
 */

import {
  createElement,
  type ReactElement,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "../../react/react.ts";
import type { Ditto, InitOptions } from "../index.ts";
import { init } from "../init.ts";
import { DittoContext, type DittoContextProps } from "./ditto-context.ts";
import {
  errorOf,
  type ProviderState,
  type RenderFunction,
  useInstances,
} from "./provider-state.ts";

export interface DittoLazyProviderProps {
  initOptions?: InitOptions;
  /** Called once for each directory. Null if there is no such instance. */
  setup: (appPath: string) => Promise<Ditto | null>;
  render?: RenderFunction;
  children?: RenderFunction;
}

/** Gives the hooks below it the instances of the directories that they ask for. */
export function DittoLazyProvider(props: DittoLazyProviderProps): ReactElement {
  const { initOptions, setup, render, children } = props;
  const [state, setState] = useState<ProviderState>({ loading: true, error: undefined });
  const { dittoHash, registerDitto, unregisterDitto } = useInstances();
  const loading = useRef(new Map<string, Promise<Ditto | void>>());
  useEffect(() => {
    init(initOptions).then(
      () => setState({ loading: false, error: undefined }),
      (error: unknown) => setState({ loading: false, error: errorOf(error) }),
    );
  }, []);
  const load = useCallback(
    (path: string): Promise<Ditto | void> => {
      const known = loading.current.get(path);
      if (known !== undefined) return known;
      const made = setup(path).then((ditto) => {
        if (ditto === null) return undefined;
        registerDitto(ditto);
        return ditto;
      });
      // The next hook tries again.
      made.catch(() => loading.current.delete(path));
      loading.current.set(path, made);
      return made;
    },
    [setup, registerDitto],
  );
  const remove = useCallback(
    (path: string) => {
      loading.current.delete(path);
      unregisterDitto(path);
    },
    [unregisterDitto],
  );
  const value = useMemo(
    (): DittoContextProps => ({
      dittoHash,
      registerDitto,
      unregisterDitto: remove,
      load,
      isLazy: true,
    }),
    [dittoHash, registerDitto, remove, load],
  );
  return createElement(DittoContext.Provider, { value }, (render ?? children)?.(state));
}
