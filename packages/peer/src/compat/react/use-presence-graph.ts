/**
 * usePresenceGraph: the presence graph of an instance, now and after each change.
 */

import { useEffect, useState } from "../../react/react.ts";
import type { Ditto, PresenceGraph } from "../index.ts";

/** Undefined without an instance. */
export function usePresenceGraph(ditto: Ditto | null): PresenceGraph | undefined {
  const [graph, setGraph] = useState<PresenceGraph>();
  useEffect(() => {
    const observer = ditto?.presence.observe(setGraph);
    return () => {
      observer?.stop();
      setGraph(undefined);
    };
  }, [ditto]);
  return graph;
}
