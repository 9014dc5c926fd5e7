/**
 * The components and hooks of the React library of the reference SDK, on `@bigpeer/peer/compat`
 * (docs/coming-from-ditto.md). For React 18 and 19.
 */

export {
  DittoContext,
  type DittoContextProps,
  type DittoHash,
  dittoInstanceKey,
  type RegisterDitto,
  type UnregisterDitto,
  useDittoContext,
} from "./ditto-context.ts";
export { DittoLazyProvider, type DittoLazyProviderProps } from "./ditto-lazy-provider.ts";
export { DittoProvider, type DittoProviderProps } from "./ditto-provider.ts";
export type { ProviderState, RenderFunction } from "./provider-state.ts";
export { type ConnectionStatusParams, useConnectionStatus } from "./use-connection-status.ts";
export { type DittoHookProps, useDitto } from "./use-ditto.ts";
export {
  type ExecutionFunction,
  type UseExecuteQueryParams,
  type UseExecuteQueryReturn,
  useExecuteQuery,
} from "./use-execute-query.ts";
export { type UseQueryParams, type UseQueryReturn, useQuery } from "./use-query.ts";
export { type UsePeersParams, useRemotePeers } from "./use-remote-peers.ts";
