/**
 * The types of the hooks, which the compiler checks: they are never run here.
 */
import { expectTypeOf, test } from "vitest";
import type { openPeer as openNodePeer, PlainObject, QueryResult } from "../../src/index.ts";
import type {
  MutationState,
  PeerProvider,
  PeerProviderProps,
  ProvidedPeer,
  QueryState,
  useMutation,
  usePeer,
  useQuery,
} from "../../src/react/index.ts";
import type { Peer as PagePeer } from "../../src/web/page/index.ts";

interface Task {
  readonly _id: string;
  readonly title: string;
}

test("rows and results have the named type, and that of any row without one", () => {
  expectTypeOf<ReturnType<typeof useQuery<Task>>>().toEqualTypeOf<QueryState<Task>>();
  expectTypeOf<QueryState["rows"]>().toEqualTypeOf<readonly PlainObject[]>();
  type Mutation = ReturnType<typeof useMutation<Task, { readonly id: string }>>;
  expectTypeOf<Mutation>().toEqualTypeOf<MutationState<Task, { readonly id: string }>>();
  expectTypeOf<Mutation["result"]>().toEqualTypeOf<QueryResult<Task> | undefined>();
});

test("the peers of both hosts fit the provider", () => {
  type NodePeer = Awaited<ReturnType<typeof openNodePeer>>;
  expectTypeOf<NodePeer>().toExtend<ProvidedPeer>();
  expectTypeOf<PagePeer>().toExtend<ProvidedPeer>();
  expectTypeOf<typeof usePeer<PagePeer>>().returns.toEqualTypeOf<PagePeer | undefined>();
  type Options = Parameters<typeof openNodePeer>[0];
  expectTypeOf<{ open: typeof openNodePeer; options: Options }>().toExtend<
    PeerProviderProps<Options>
  >();
  expectTypeOf<typeof PeerProvider>().parameter(0).toHaveProperty("children");
});
