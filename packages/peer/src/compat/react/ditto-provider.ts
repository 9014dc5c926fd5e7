/**
 * Ditto provider: sets up the instances of an app when it is mounted. The app closes them.
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

export interface DittoProviderProps {
  initOptions?: InitOptions;
  /** Called once. */
  setup: () => Ditto | Ditto[] | Promise<Ditto | Ditto[]>;
  render?: RenderFunction;
  children?: RenderFunction;
}

/** Gives the hooks below it the instances that `setup` makes; the first one is the default. */
export function DittoProvider(props: DittoProviderProps): ReactElement {
  const { initOptions, setup, render, children } = props;
  const [state, setState] = useState<ProviderState>({ loading: true, error: undefined });
  const { dittoHash, registerDitto, unregisterDitto } = useInstances();
  // Strict mode mounts twice, and an app has one set-up.
  const started = useRef(false);
  useEffect(() => {
    if (started.current) return;
    started.current = true;
    const begin = async (): Promise<void> => {
      await init(initOptions);
      for (const ditto of [await setup()].flat()) registerDitto(ditto);
    };
    begin().then(
      () => setState({ loading: false, error: undefined }),
      (error: unknown) => setState({ loading: false, error: errorOf(error) }),
    );
  }, []);
  const load = useCallback(async (path: string) => dittoHash[path], [dittoHash]);
  const value = useMemo(
    (): DittoContextProps => ({ dittoHash, registerDitto, unregisterDitto, load, isLazy: false }),
    [dittoHash, registerDitto, unregisterDitto, load],
  );
  return createElement(DittoContext.Provider, { value }, (render ?? children)?.(state));
}
