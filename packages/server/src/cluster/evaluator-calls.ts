/**
 * Evaluator calls: what this node asks of the node that evaluates a store. Where this changes the
 * store, this node has the result too when they resolve.
 */

import { type RelayedAnswer, UploadRelay } from "@bigpeer/engine/cluster";
import type { Store, UploadAnswer } from "@bigpeer/engine/store";
import type { SessionUpload } from "@bigpeer/engine/sync";
import { assert, isObject, PeerError, type Value, type ValueObject } from "@bigpeer/protocol";
import type { DeliveryCommand } from "../delivery/delivery-commands.ts";
import type { ContentOutcome } from "../link/app-contents.ts";
import type { AuditAction, AuditedKind, Author } from "../registry/audit-log.ts";
import { REGISTRY_STORE } from "../stores/stores.ts";
import type { ClusterStores } from "./cluster-stores.ts";
import type { Evaluators } from "./evaluators.ts";
import { isReached } from "./waiting.ts";

/** How long this node may take to catch up. */
const CATCH_UP_MS_MAX = 5_000;

/** How long an answer that was passed on waits until this node has what it tells of. */
const ANSWER_MS_MAX = 1_000;

/** How long an upload waits until this node has it; it is durable already. */
const UPLOADED_MS_MAX = 10_000;

/** An upload, and the token of its session. */
interface PeerUpload extends SessionUpload {
  readonly token: string;
}

export class EvaluatorCalls {
  readonly #evaluators: Pick<Evaluators, "call">;
  readonly #stores: Pick<ClusterStores, "find">;
  readonly #relays = new WeakMap<Store, UploadRelay<PeerUpload>>();

  constructor(evaluators: Pick<Evaluators, "call">, stores: Pick<ClusterStores, "find">) {
    this.#evaluators = evaluators;
    this.#stores = stores;
  }

  /**
   * Resolves when the store here has everything that was acknowledged before the call. Rejects with
   * `store.busy` if that takes too long.
   */
  async catchUp(store: string): Promise<void> {
    const replica = this.#stores.find(store);
    assert(replica !== undefined, "an open store");
    const { sequence } = await this.#evaluators.call(store, "confirm", { store });
    if (await isReached(replica.whenReached(Number(sequence)), CATCH_UP_MS_MAX)) return;
    throw new PeerError("store.busy", "this node has not caught up with the cluster yet");
  }

  /** A node that lags does not delay an answer for long. */
  async caughtUp(store: string, sequence: number): Promise<void> {
    const wait = this.#stores.find(store)?.whenReached(sequence);
    if (wait !== undefined) await isReached(wait, ANSWER_MS_MAX);
  }

  /**
   * As takeUpload, where the app is evaluated; when it resolves, the store here has it. After an
   * error the peer sends the upload again, and it is recognised by its number.
   */
  upload(store: Store, appId: string, asked: SessionUpload, token: string): Promise<UploadAnswer> {
    return this.#relayOf(store, appId).upload({ ...asked, token });
  }

  #relayOf(store: Store, appId: string): UploadRelay<PeerUpload> {
    const known = this.#relays.get(store);
    if (known !== undefined) return known;
    const relay = new UploadRelay<PeerUpload>({
      store,
      relay: async (asked) => {
        const uploads = asked.map(({ upload }) => upload) as unknown as Value;
        // All are of one session.
        const { token = "", by } = asked.at(-1) ?? {};
        const value = { store: appId, token, peer: by?.peer ?? "", uploads };
        const isOpen = (): boolean => asked.some((each) => each.isOpen());
        const { answers } = await this.#evaluators.call(appId, "uploads", value, isOpen);
        return answers as unknown as readonly RelayedAnswer[];
      },
      reached: (txnId) => uploaded(store, txnId),
    });
    this.#relays.set(store, relay);
    return relay;
  }

  /** Status of the links of a replication, from the node that runs them. */
  linkStatus(appId: string, name: string): Promise<ValueObject> {
    return this.#evaluators.call(appId, "link_status", { app: appId, name });
  }

  /** As Deliveries.run, on the node that delivers. */
  async delivery(asked: DeliveryCommand): Promise<ValueObject | undefined> {
    const { letter, ...rest } = asked;
    const value = letter === undefined ? rest : { ...rest, letter };
    const { answer } = await this.#evaluators.call(asked.appId, "delivery", value);
    return isObject(answer) ? answer : undefined;
  }

  /** Searches a content at linked Big Peers, from the node that runs the links. */
  async findContent(appId: string, id: string): Promise<ContentOutcome> {
    const found = await this.#evaluators.call(appId, "find_content", { app: appId, id });
    await this.caughtUp(appId, Number(found["sequence"]));
    return found["outcome"] as ContentOutcome;
  }

  /** Writes when API keys were last used, where the registry is evaluated. */
  async noteUses(uses: readonly (readonly [string, number])[]): Promise<void> {
    await this.#evaluators.call(REGISTRY_STORE, "uses", { uses });
  }

  async record(author: Author, action: AuditAction, kind: AuditedKind): Promise<void> {
    const value = { author: { ...author }, action: { ...action }, kind } as unknown as ValueObject;
    await this.#evaluators.call(REGISTRY_STORE, "run", value);
  }
}

/** A node that does not follow the log must not keep its peers waiting: they go to another one. */
async function uploaded(store: Store, txnId: number): Promise<void> {
  if (await isReached(store.whenReached(txnId), UPLOADED_MS_MAX)) return;
  throw new PeerError("store.busy", "this node has not caught up with the cluster yet");
}
