/**
 * Deliveries: runs the webhooks and sinks of all apps, as the registry configures them.
 *
 * It follows the registry while it runs. An app with one of them stays open. In a cluster it is open
 * on every node, and the node that evaluates it delivers: the position is written by that node, so
 * one that was replaced cannot go on.
 */

import { setImmediate as nextTurn, setTimeout as wait } from "node:timers/promises";
import type { Platform } from "@bigpeer/engine";
import type { ChangeReader, ChangesRequest } from "@bigpeer/engine/changes";
import type { Store } from "@bigpeer/engine/store";
import { assert, PeerError, type ValueObject } from "@bigpeer/protocol";
import type { OpenApp } from "../apps/open-app.ts";
import type { AppUse } from "../apps/open-apps.ts";
import type { DeliveryStats } from "../observability/delivery-metrics.ts";
import { describeError, type Log } from "../observability/log.ts";
import type { Destination } from "../registry/destination.ts";
import type { Registry, RegistryChange } from "../registry/registry.ts";
import type { Sink } from "../registry/sinks.ts";
import type { Webhook } from "../registry/webhooks.ts";
import { Delivery, type DeliveryEvent } from "./delivery.ts";
import {
  type CommandTarget,
  type DeliveryCommand,
  runDeliveryCommand,
} from "./delivery-commands.ts";
import { DeliveryJournal } from "./delivery-journal.ts";
import { showStatus } from "./delivery-status.ts";
import { JetStreamSender } from "./jetstream-sender.ts";
import type { Sender } from "./sender.ts";
import { WebhookSender } from "./webhook-sender.ts";

export interface DeliverySource {
  readonly registry: Pick<Registry, "webhooks" | "sinks">;
  readonly apps: { use(id: string): Promise<AppUse> };
}

export interface DeliveriesOptions {
  readonly platform: Pick<Platform, "now" | "elapsed" | "random">;
  readonly log: Log;
  readonly attemptsMax: number;
  readonly timeoutMs: number;
  /** Whether the registry is a replica, which may not know the newest webhooks and sinks yet. */
  readonly isClustered: boolean;
  readonly changesOf: (app: OpenApp) => { open(request: ChangesRequest): ChangeReader };
}

type Configured =
  | { readonly kind: "webhook"; readonly destination: Webhook }
  | { readonly kind: "sink"; readonly destination: Sink };

/** A webhook or sink that should run, and what runs of it. */
interface Slot {
  wanted: Configured | undefined;
  running: Running | undefined;
  isBusy: boolean;
  isChanged: boolean;
  retryMs: number;
}

interface Running {
  readonly configured: Configured;
  readonly use: AppUse;
  /** Absent on a node that does not evaluate the app. */
  delivery: Delivery | undefined;
  sender: Sender | undefined;
}

const TICK_MS = 1_000;

/** When a delivery that could not begin is tried again. */
const RETRY_MS = 5_000;

/** How many values four random bytes have. */
const RANDOM_MAX = 2 ** 32;

export class Deliveries {
  readonly #options: DeliveriesOptions;
  readonly #slots = new Map<string, Slot>();
  readonly #journals = new WeakMap<Store, DeliveryJournal>();
  /** The app of each webhook and sink that was there at the last look. */
  #known = new Map<string, string>();
  #source: DeliverySource | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isReviewDue = false;
  #isClosed = false;

  constructor(options: DeliveriesOptions) {
    this.#options = options;
  }

  start(source: DeliverySource): void {
    this.#source = source;
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#timer.unref();
    this.#review();
  }

  /** Call when the registry has changed. */
  registryChanged({ isOfDestinations, appIds }: Changed): void {
    if ((!isOfDestinations && appIds.size === 0) || this.#isReviewDue || this.#isClosed) return;
    this.#isReviewDue = true;
    setImmediate(() => this.#review());
  }

  /** Call when this node of a cluster begins or ceases to evaluate an app. */
  rolesChanged(): void {
    this.registryChanged({ isOfDestinations: true, appIds: new Set() });
  }

  /** Call before an app is closed. */
  appClosing(app: OpenApp): void {
    for (const slot of this.#slots.values()) {
      if (slot.running?.use.app === app) void this.#settle(slot, true);
    }
  }

  /** Resolves when nothing is sent any more and all positions are written. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const slot of this.#slots.values()) slot.wanted = undefined;
    await Promise.all(Array.from(this.#slots.values(), (slot) => this.#end(slot)));
  }

  /** The position after all changes that are durable now, for a new one. */
  async currentCursor(appId: string): Promise<string> {
    return this.#withApp(appId, (app) => {
      const reader = this.#options.changesOf(app).open({});
      reader.close();
      return reader.cursor;
    });
  }

  /** Whether another node of the cluster delivers. */
  isElsewhere(appId: string): Promise<boolean> {
    return this.#withApp(appId, ({ store }) => store.isFollowing);
  }

  /** Runs a command where the app is evaluated. Undefined when there is no such dead letter. */
  async run(asked: DeliveryCommand): Promise<ValueObject | undefined> {
    const configured = this.#find(asked);
    const { destination } = configured;
    return this.#withApp(asked.appId, (app) => {
      const target: CommandTarget = {
        destination,
        store: app.store,
        journal: this.#journalOf(app),
        delivery: this.#slots.get(destination.id)?.running?.delivery,
        platform: this.#options.platform,
        createSender: () => this.#senderOf(configured),
        pause: nextTurn,
      };
      return runDeliveryCommand(target, asked);
    });
  }

  *stats(): Iterable<DeliveryStats> {
    for (const { running } of this.#slots.values()) {
      if (running?.delivery === undefined) continue;
      const { configured, delivery, use } = running;
      const { kind, destination } = configured;
      const { appId, name } = destination;
      const journal = this.#journalOf(use.app);
      const nowMs = this.#options.platform.now();
      const { store } = use.app;
      const shown = showStatus({ destination, store, journal, delivery, nowMs });
      const { totals } = delivery;
      const { state, lag } = shown as unknown as Pick<DeliveryStats, "state" | "lag">;
      yield { appId, kind, name, state, totals, lag };
    }
  }

  #find({ kind, appId, name }: Pick<DeliveryCommand, "kind" | "appId" | "name">): Configured {
    const { registry } = this.#opened();
    return kind === "webhook"
      ? { kind, destination: registry.webhooks.get(appId, name) }
      : { kind, destination: registry.sinks.get(appId, name) };
  }

  /** Applies the webhooks and sinks of the registry. Never throws. */
  #review(): void {
    this.#isReviewDue = false;
    // The start reviews all, whatever changed before it.
    if (this.#isClosed || this.#source === undefined) return;
    try {
      this.#follow();
    } catch (error) {
      const what = "failed to apply the webhooks and sinks of the apps (they stay as they are)";
      this.#options.log("error", `${what}: ${describeError(error)}`);
    }
  }

  #follow(): void {
    const all = this.#configured();
    const ids = new Map(all.map(({ destination: { id, appId } }) => [id, appId]));
    const gone = Array.from(this.#known).filter(([id]) => !ids.has(id));
    this.#known = ids;
    const wanted = all.filter(({ destination }) => !destination.isPaused);
    for (const configured of wanted) {
      const slot = this.#slots.get(configured.destination.id) ?? emptySlot();
      slot.wanted = configured;
      this.#slots.set(configured.destination.id, slot);
    }
    const wantedIds = new Set(wanted.map(({ destination }) => destination.id));
    const ends: Promise<void>[] = [];
    for (const [id, slot] of this.#slots) {
      if (!wantedIds.has(id)) slot.wanted = undefined;
      ends.push(this.#settle(slot));
    }
    if (gone.length > 0) void Promise.all(ends).then(() => this.#forget(gone));
  }

  #configured(): readonly Configured[] {
    const { webhooks, sinks } = this.#opened().registry;
    return [
      ...webhooks.all().map((destination) => ({ kind: "webhook" as const, destination })),
      ...sinks.all().map((destination) => ({ kind: "sink" as const, destination })),
    ];
  }

  /** Brings what runs of a slot to what is wanted. Never rejects. */
  async #settle(slot: Slot, isClosing = false): Promise<void> {
    slot.isChanged = true;
    if (isClosing) slot.running?.delivery?.stop().catch(() => {});
    if (slot.isBusy) return;
    slot.isBusy = true;
    let mustEnd = isClosing;
    while (slot.isChanged) {
      slot.isChanged = false;
      try {
        if (mustEnd || !isUpToDate(slot)) await this.#end(slot);
        mustEnd = false;
        await this.#begin(slot, isClosing);
      } catch (error) {
        slot.retryMs = this.#options.platform.elapsed() + RETRY_MS;
        this.#fault(slot.wanted, error);
      }
    }
    slot.isBusy = false;
  }

  async #begin(slot: Slot, isClosing: boolean): Promise<void> {
    const { wanted } = slot;
    if (wanted === undefined || slot.running !== undefined || this.#isClosed) return;
    if (isClosing || this.#options.platform.elapsed() < slot.retryMs) return;
    const use = await this.#opened().apps.use(wanted.destination.appId);
    const running: Running = { configured: wanted, use, delivery: undefined, sender: undefined };
    slot.running = running;
    // Another node delivers; the app is open here so that one of them evaluates it.
    if (use.app.store.isFollowing) return;
    await this.#forgetOthers(use.app);
    running.sender = this.#senderOf(wanted);
    running.delivery = this.#deliveryOf(wanted, running.sender, use.app);
  }

  async #end(slot: Slot): Promise<void> {
    const { running } = slot;
    if (running === undefined) return;
    await running.delivery?.stop();
    await running.sender?.close().catch(() => {});
    if (slot.running !== running) return;
    slot.running = undefined;
    running.use.release();
  }

  #deliveryOf({ kind, destination }: Configured, sender: Sender, app: OpenApp): Delivery {
    const { platform, log, attemptsMax, changesOf } = this.#options;
    const { appId, name } = destination;
    return new Delivery({
      destination,
      open: (request) => changesOf(app).open(request),
      journal: this.#journalOf(app),
      sender,
      host: {
        now: () => platform.now(),
        sleep,
        chance: () => Buffer.from(platform.random(4)).readUInt32BE() / RANDOM_MAX,
        attemptsMax,
        report: (event) => reportTo(log, { appId, [kind]: name }, event),
      },
    });
  }

  #senderOf({ kind, destination }: Configured): Sender {
    const { platform, timeoutMs } = this.#options;
    if (kind === "sink") return new JetStreamSender(destination, { timeoutMs });
    return new WebhookSender(destination, { now: () => platform.now(), timeoutMs });
  }

  /** Removes the positions and dead letters of deleted webhooks and sinks. */
  async #forget(gone: Iterable<readonly [id: string, appId: string]>): Promise<void> {
    for (const [id, appId] of gone) {
      try {
        await this.#withApp(appId, async (app) => {
          if (!app.store.isFollowing) await this.#journalOf(app).remove((each) => each === id);
        });
      } catch (error) {
        // The app may be deleted as well.
        const isGone = error instanceof PeerError && error.code === "store.closed";
        if (!isGone) this.#fault(undefined, error);
      }
    }
  }

  /** As `#forget`, for those that were deleted just before the server was killed. */
  async #forgetOthers(app: OpenApp): Promise<void> {
    if (this.#options.isClustered) return;
    await this.#journalOf(app).remove((id) => !this.#known.has(id));
  }

  #tick(): void {
    for (const [id, slot] of this.#slots) {
      const { wanted, running } = slot;
      if (wanted === undefined && running === undefined && !slot.isBusy) this.#slots.delete(id);
      else if (!isUpToDate(slot)) void this.#settle(slot);
    }
  }

  #fault(wanted: Configured | undefined, error: unknown): void {
    const { appId, name } = wanted?.destination ?? {};
    const what = wanted === undefined ? "webhooks and sinks" : `the ${wanted.kind} ${name}`;
    this.#options.log("error", `failed to run ${what}: ${describeError(error)}`, { appId });
  }

  #journalOf({ store }: OpenApp): DeliveryJournal {
    const known = this.#journals.get(store);
    if (known !== undefined) return known;
    const made = new DeliveryJournal(store);
    this.#journals.set(store, made);
    return made;
  }

  async #withApp<T>(appId: string, work: (app: OpenApp) => T | Promise<T>): Promise<T> {
    const use = await this.#opened().apps.use(appId);
    try {
      return await work(use.app);
    } finally {
      use.release();
    }
  }

  #opened(): DeliverySource {
    assert(this.#source !== undefined, "a server that has started");
    return this.#source;
  }
}

type Changed = Pick<RegistryChange, "isOfDestinations" | "appIds">;

function emptySlot(): Slot {
  return {
    wanted: undefined,
    running: undefined,
    isBusy: false,
    isChanged: false,
    retryMs: Number.NEGATIVE_INFINITY,
  };
}

/** Whether what is wanted runs, where it should. */
function isUpToDate({ wanted, running }: Slot): boolean {
  if (wanted === undefined || running === undefined) return (wanted ?? running) === undefined;
  if (!isSame(wanted.destination, running.configured.destination)) return false;
  const { delivery, use } = running;
  if (use.app.store.isFollowing) return delivery === undefined;
  return delivery !== undefined && (!delivery.isEnded || delivery.stopped !== undefined);
}

function isSame(one: Destination, other: Destination): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  await wait(ms, undefined, { signal }).catch(() => {});
}

/** The first failure of a batch is a warning; further ones are for debugging. */
function reportTo(log: Log, fields: Record<string, string>, event: DeliveryEvent): void {
  switch (event.kind) {
    case "failed": {
      const { attempts, message: reason } = event;
      const level = attempts === 1 ? "warn" : "debug";
      return log(level, "a delivery failed", { ...fields, attempts, reason });
    }
    case "recovered":
      return log("info", "deliveries go on", fields);
    case "buried": {
      const { attempts, message: reason } = event;
      return log("error", "a delivery became a dead letter", { ...fields, attempts, reason });
    }
    case "stopped": {
      const { reason: code, message: reason } = event;
      return log("error", "deliveries are paused", { ...fields, code, reason });
    }
    case "fault":
      return log("error", `failed to deliver changes: ${event.message}`, fields);
  }
}
