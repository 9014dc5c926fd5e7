/**
 * Provider state: what both providers have: instances, and functions to add and remove one.
 */

import { type ReactNode, useCallback, useState } from "../../react/react.ts";
import type { Ditto } from "../index.ts";
import {
  type DittoHash,
  dittoInstanceKey,
  type RegisterDitto,
  type UnregisterDitto,
} from "./ditto-context.ts";

export interface ProviderState {
  loading: boolean;
  error: Error | undefined;
}

export type RenderFunction = (providerState: ProviderState) => ReactNode;

export interface Instances {
  readonly dittoHash: DittoHash;
  readonly registerDitto: RegisterDitto;
  readonly unregisterDitto: UnregisterDitto;
}

export function useInstances(): Instances {
  const [dittoHash, setDittoHash] = useState<DittoHash>({});
  const registerDitto = useCallback((ditto: Ditto) => {
    setDittoHash((hash) => ({ ...hash, [dittoInstanceKey(ditto)]: ditto }));
  }, []);
  const unregisterDitto = useCallback((persistenceDirectory: string) => {
    setDittoHash((hash) => {
      const { [persistenceDirectory]: _removed, ...others } = hash;
      return others;
    });
  }, []);
  return { dittoHash, registerDitto, unregisterDitto };
}

export function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
