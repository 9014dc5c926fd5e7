/**
 * Ditto context: the instances that a provider has, for the hooks below it.
 */

import { type Context, createContext, useContext } from "../../react/react.ts";
import type { Ditto } from "../index.ts";

/** Instances by their persistence directory. */
export interface DittoHash {
  [key: string]: Ditto;
}

export type RegisterDitto = (ditto: Ditto) => void;

export type UnregisterDitto = (persistenceDirectory: string) => void;

export interface DittoContextProps {
  dittoHash: DittoHash;
  registerDitto?: RegisterDitto;
  unregisterDitto?: UnregisterDitto;
  /** The instance of a directory. A lazy provider sets it up if there is none. */
  load: (appPath: string) => Promise<Ditto | void>;
  isLazy: boolean;
}

/** The directory as the app set it; without one, where the instance is. */
export function dittoInstanceKey(ditto: Ditto): string {
  return ditto.config.persistenceDirectory ?? ditto.absolutePersistenceDirectory;
}

export const DittoContext: Context<DittoContextProps> = createContext<DittoContextProps>({
  dittoHash: {},
  load: async () => undefined,
  isLazy: false,
});

export function useDittoContext(): DittoContextProps {
  return useContext(DittoContext);
}
