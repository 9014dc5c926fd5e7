/**
 * useLatest: the newest value of a rendering, for effects and callbacks that do not depend on it.
 */

import { useEffect, useRef } from "../../react/react.ts";

export function useLatest<T>(value: T): { readonly current: T } {
  const latest = useRef(value);
  // Declared before the effects that read it, so it runs before them.
  useEffect(() => {
    latest.current = value;
  });
  return latest;
}
