/**
 * Open apps: opens the store of an app at its first use and closes it after it was idle for a
 * while.
 *
 *   absent ──use──> opening ──> open ──no use for idleMs──> closing ──> absent
 *
 * Uses are counted, and an app in use is not closed. A use of an app that is closing waits and
 * opens it again. If a store cannot be opened, only requests to its app fail.
 */

import { assert, PeerError } from "@bigpeer/protocol";
import { CLOSE_MS_MAX, OPEN_APPS_MAX } from "../limits/limits.ts";
import { describeError } from "../observability/log.ts";
import { AppIndexUses } from "./app-index-uses.ts";
import { type AppHost, type KnownApps, OpenApp } from "./open-app.ts";

/** Use of an app, which must be released exactly once. */
export interface AppUse {
  readonly app: OpenApp;
  release(): void;
}

export interface OpenAppsOptions {
  /** Registry entries of the apps. */
  readonly known: KnownApps;
  readonly host: AppHost;
  /** How long an unused app stays open. */
  readonly idleMs: number;
  /** Called for each opened app; the function it returns is called before the app is closed. */
  readonly onOpened?: (app: OpenApp) => () => void;
  readonly openMax?: number;
  /** How long uses may take to end when their app is deleted. */
  readonly closeMsMax?: number;
}

/** Background work. It checks `isOver` between its steps. */
export type Visit = (app: OpenApp, isOver: () => boolean) => Promise<void>;

/** Longest interval between two checks for idle apps. */
const ROUND_MS_MAX = 60_000;

/** How long callers get the same error before the store is opened again. */
const RETRY_MS = 5_000;

interface Failure {
  readonly error: unknown;
  readonly atMs: number;
}

export class OpenApps {
  readonly #options: OpenAppsOptions;
  /** Number of checks after which an idle app is closed. */
  readonly #idleRounds: number;
  readonly #timer: NodeJS.Timeout;
  readonly #open = new Map<string, HeldApp>();
  readonly #openings = new Map<string, Promise<void>>();
  readonly #closings = new Map<string, Promise<void>>();
  readonly #failures = new Map<string, Failure>();
  readonly #indexUses: AppIndexUses;
  /** Apps whose files are open, or are about to be. */
  #places = 0;
  #isClosed = false;

  constructor(options: OpenAppsOptions) {
    this.#options = options;
    this.#indexUses = new AppIndexUses(() => options.host.platform.now());
    const roundMs = Math.min(ROUND_MS_MAX, Math.max(1, options.idleMs / 4));
    this.#idleRounds = Math.ceil(options.idleMs / roundMs);
    this.#timer = setInterval(() => this.#closeIdle(), roundMs);
    this.#timer.unref();
  }

  /** Open apps in the order of their opening. */
  get open(): readonly OpenApp[] {
    return Array.from(this.#open.values(), ({ app }) => app);
  }

  /** Whether the last attempt to open an app failed; the log has the reason. */
  hasFailed(id: string): boolean {
    return this.#failures.has(id);
  }

  /** Use of an app that is already open; undefined otherwise. On the path of every request. */
  tryUse(id: string): AppUse | undefined {
    return this.#open.get(id)?.hold().want();
  }

  /**
   * Use of an app, which is opened if necessary. Rejects with the reason when it cannot be opened,
   * with `store.busy` when too many other apps are in use, and with `store.closed` when the
   * registry does not know the app or the server is closing.
   */
  async use(id: string): Promise<AppUse> {
    return (await this.#hold(id)).want();
  }

  /**
   * Runs background work on an app. It does not count as a use: an app opened for it is closed
   * again unless it was used meanwhile, and an idle app stays idle. Rejects as `use` does.
   */
  async visit(id: string, work: Visit): Promise<void> {
    await this.#visit(await this.#hold(id), work);
  }

  /** As `visit`, if the app is open. */
  async visitOpen(id: string, work: Visit): Promise<void> {
    const held = this.#open.get(id)?.hold();
    if (held !== undefined) await this.#visit(held, work);
  }

  /** The last of several visitors closes the app, unless it was used meanwhile. */
  async #visit(held: HeldApp, work: Visit): Promise<void> {
    await held.visit(work);
    const isLeft = held.isFree && !held.isWanted && this.#open.get(held.app.id) === held;
    if (isLeft) await this.#close(held);
  }

  /**
   * Closes an app that was deleted from the registry. New uses fail. Uses in progress get a little
   * time to end, and their statements are cancelled. Errors are logged.
   */
  async closeApp(id: string): Promise<void> {
    const opening = this.#openings.get(id);
    if (opening !== undefined) await opening.catch(() => {});
    const held = this.#open.get(id);
    if (held === undefined) await this.#closings.get(id);
    else await this.#close(held, this.#options.closeMsMax ?? CLOSE_MS_MAX);
    this.#failures.delete(id);
    this.#indexUses.forget(id);
  }

  /** Closes all apps, even those in use. Repeated calls are harmless. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await Promise.allSettled(this.#openings.values());
    for (const held of this.#open.values()) void this.#close(held);
    await Promise.all(this.#closings.values());
  }

  async #hold(id: string): Promise<HeldApp> {
    for (;;) {
      const held = this.#open.get(id);
      // Synchronously, before other code could close it.
      if (held !== undefined) return held.hold();
      const closing = this.#closings.get(id);
      if (closing === undefined) this.#checkWanted(id);
      await (closing ?? this.#whenOpened(id));
    }
  }

  #checkWanted(id: string): void {
    if (this.#isClosed) throw closedError("expected an open server, found it closing");
    if (this.#options.known.get(id) === undefined) {
      throw closedError(`expected an app of this server, found none with the id ${id}`);
    }
    const failure = this.#failures.get(id);
    if (failure === undefined) return;
    if (this.#options.host.platform.elapsed() - failure.atMs < RETRY_MS) throw failure.error;
    this.#failures.delete(id);
  }

  /** Concurrent callers share one opening. */
  #whenOpened(id: string): Promise<void> {
    const known = this.#openings.get(id);
    if (known !== undefined) return known;
    const opening = this.#openInPlace(id).finally(() => this.#openings.delete(id));
    this.#openings.set(id, opening);
    return opening;
  }

  async #openInPlace(id: string): Promise<void> {
    await this.#takePlace();
    try {
      this.#open.set(id, await this.#openStore(id));
    } catch (error) {
      this.#places--;
      throw error;
    }
  }

  /** Each app takes files and address space: at the limit, the longest idle app is closed. */
  async #takePlace(): Promise<void> {
    const max = this.#options.openMax ?? OPEN_APPS_MAX;
    while (this.#places >= max) {
      const quietest = this.#quietest();
      if (quietest !== undefined) await this.#close(quietest);
      else if (this.#closings.size > 0) await Promise.race(this.#closings.values());
      else throw new PeerError("store.busy", `expected at most ${max} apps in use at a time`);
    }
    this.#places++;
  }

  #quietest(): HeldApp | undefined {
    let found: HeldApp | undefined;
    for (const held of this.#open.values()) {
      if (held.isFree && held.quietRounds > (found?.quietRounds ?? -1)) found = held;
    }
    return found;
  }

  async #openStore(id: string): Promise<HeldApp> {
    const { known, host } = this.#options;
    const app = known.get(id);
    // It may have been deleted while another app was closed to make space.
    if (app === undefined) throw closedError(`expected the app ${id}, found it deleted`);
    try {
      const indexUses = this.#indexUses.of(id);
      const opened = await OpenApp.open(app, { ...host, indexUses }, known);
      try {
        return this.#prepare(opened);
      } catch (error) {
        // Its slot is freed, so its files must be closed as well.
        await opened.close();
        throw error;
      }
    } catch (error) {
      this.#failures.set(id, { error, atMs: host.platform.elapsed() });
      host.log("error", `failed to open the app ${id}: ${describeError(error)}`);
      throw error;
    }
  }

  #prepare(app: OpenApp): HeldApp {
    return new HeldApp(app, this.#options.onOpened?.(app) ?? (() => {}));
  }

  #closeIdle(): void {
    for (const held of this.#open.values()) {
      if (!held.isFree) continue;
      held.quietRounds++;
      if (held.quietRounds > this.#idleRounds) void this.#close(held);
    }
  }

  /** New uses no longer find it when this returns. Errors are logged. */
  #close(held: HeldApp, waitMs?: number): Promise<void> {
    const { id } = held.app;
    this.#open.delete(id);
    const closing = this.#closeStore(held, waitMs).finally(() => {
      this.#places--;
      this.#closings.delete(id);
    });
    this.#closings.set(id, closing);
    return closing;
  }

  async #closeStore(held: HeldApp, waitMs: number | undefined): Promise<void> {
    const { id } = held.app;
    try {
      await this.#endUses(held, waitMs);
    } catch (error) {
      const what = `failed to end the requests of the app ${id} (it is closed all the same)`;
      this.#options.host.log("error", `${what}: ${describeError(error)}`);
    }
    try {
      await held.app.close();
    } catch (error) {
      const what = `failed to close the app ${id} (committed data is safe)`;
      this.#options.host.log("error", `${what}: ${describeError(error)}`);
    }
  }

  async #endUses(held: HeldApp, waitMs: number | undefined): Promise<void> {
    await held.end(waitMs);
  }
}

/** App with a count of its uses. It is itself the use, so a use costs only a counter. */
class HeldApp implements AppUse {
  readonly app: OpenApp;
  readonly #onClosing: () => void;
  #holderCount = 0;
  /** Until the caller that opened it holds it. */
  #isFresh = true;
  #isEnding = false;
  #onFree: (() => void) | undefined;
  /** Checks since its last use. */
  quietRounds = 0;
  /** Whether it was used, and not only visited. */
  isWanted = false;

  constructor(app: OpenApp, onClosing: () => void) {
    this.app = app;
    this.#onClosing = onClosing;
  }

  get isFree(): boolean {
    return this.#holderCount === 0 && !this.#isFresh;
  }

  hold(): this {
    this.#holderCount++;
    this.#isFresh = false;
    return this;
  }

  want(): this {
    this.quietRounds = 0;
    this.isWanted = true;
    return this;
  }

  release(): void {
    assert(this.#holderCount > 0, "a use is released once");
    this.#holderCount--;
    if (this.#holderCount === 0) this.#onFree?.();
  }

  /** The caller must hold it. */
  async visit(work: Visit): Promise<void> {
    try {
      await work(this.app, () => this.#isEnding);
    } finally {
      this.release();
    }
  }

  /** Before closing: cancels statements, and waits up to `waitMs` until no use is left. */
  async end(waitMs: number | undefined): Promise<void> {
    this.#isEnding = true;
    this.#onClosing();
    if (waitMs === undefined || this.#holderCount === 0) return;
    const { requests } = this.app.statements;
    for (const { id } of requests.activeRows()) {
      if (typeof id === "string") requests.cancel(id, "the app was deleted");
    }
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      this.#onFree = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

function closedError(message: string): PeerError {
  return new PeerError("store.closed", message);
}
