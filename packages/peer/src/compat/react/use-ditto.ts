/**
 * useDitto: an instance of the provider above.
 */

import { useEffect, useState } from "../../react/react.ts";
import type { Ditto } from "../index.ts";
import { useDittoContext } from "./ditto-context.ts";
import { errorOf } from "./provider-state.ts";

export interface DittoHookProps {
  ditto: Ditto | null;
  loading: boolean;
  error: Error | undefined;
}

/**
 * The instance of a persistence directory; without one, the first instance. A lazy provider sets it
 * up.
 */
export function useDitto(path?: string | null): DittoHookProps {
  const { dittoHash, load, isLazy } = useDittoContext();
  const [failure, setFailure] = useState<{ readonly path: string; readonly error: Error }>();
  const known = path ? dittoHash[path] : Object.values(dittoHash)[0];
  const isWanted = isLazy && known === undefined && typeof path === "string" && path !== "";
  useEffect(() => {
    if (!isWanted) return undefined;
    let isMounted = true;
    load(path).catch((error: unknown) => {
      if (isMounted) setFailure({ path, error: errorOf(error) });
    });
    return () => {
      isMounted = false;
    };
  }, [isWanted, path, load]);
  const error = isWanted && failure?.path === path ? failure.error : undefined;
  return { ditto: known ?? null, loading: isWanted && error === undefined, error };
}
