/**
 * The open apps of a server: one store for each app, opened when it is first used and closed when
 * it has had no use for a while.
 *
 *   absent ──use──> opening ──> open ──no use for idleMs──> closing ──> absent
 *
 * Whoever works on an app holds it, and while somebody does it is not closed. A use of one that is
 * being closed waits and opens it again. Where a store cannot be opened, the callers of its app are
 * told so; those of the others do not notice.
 */

import { assert, PeerError } from "@bigpeer/protocol";
import { CLOSE_MS_MAX, OPEN_APPS_MAX } from "../limits.ts";
import { describeError } from "../log.ts";
import { type AppHost, type KnownApps, OpenApp } from "./open-app.ts";

/** A use of an app, to be released exactly once. */
export interface AppUse {
  readonly app: OpenApp;
  release(): void;
}

export interface OpenAppsOptions {
  /** What the registry knows. */
  readonly known: KnownApps;
  readonly host: AppHost;
  /** How long an app stays open that nobody uses. */
  readonly idleMs: number;
  /** Told of each app that was opened; what it returns is called before that one is closed. */
  readonly onOpened?: (app: OpenApp) => () => void;
  readonly openMax?: number;
  /** How long uses may take to end when their app was deleted. */
  readonly closeMsMax?: number;
}

/** Work in the background. It looks at `isOver` between its pieces. */
export type Visit = (app: OpenApp, isOver: () => boolean) => Promise<void>;

/** How often, at the least, it is looked for apps that nobody uses. */
const ROUND_MS_MAX = 60_000;

/** How long callers are told of a failure before the store is tried again. */
const RETRY_MS = 5_000;

interface Failure {
  readonly error: unknown;
  readonly atMs: number;
}

export class OpenApps {
  readonly #options: OpenAppsOptions;
  /** Looks at an app that nobody uses until it is closed. */
  readonly #idleRounds: number;
  readonly #timer: NodeJS.Timeout;
  readonly #open = new Map<string, HeldApp>();
  readonly #openings = new Map<string, Promise<void>>();
  readonly #closings = new Map<string, Promise<void>>();
  readonly #failures = new Map<string, Failure>();
  /** Apps that have their files open, or are about to. */
  #places = 0;
  #isClosed = false;

  constructor(options: OpenAppsOptions) {
    this.#options = options;
    const roundMs = Math.min(ROUND_MS_MAX, Math.max(1, options.idleMs / 4));
    this.#idleRounds = Math.ceil(options.idleMs / roundMs);
    this.#timer = setInterval(() => this.#closeIdle(), roundMs);
    this.#timer.unref();
  }

  /** Those that are open, in the order of their opening. */
  get open(): readonly OpenApp[] {
    return Array.from(this.#open.values(), ({ app }) => app);
  }

  /** Whether the last attempt to open an app failed; the log has the reason. */
  hasFailed(id: string): boolean {
    return this.#failures.has(id);
  }

  /** A use of an app that is open. Undefined when it must be opened. On the way of every request. */
  tryUse(id: string): AppUse | undefined {
    return this.#open.get(id)?.hold().want();
  }

  /**
   * A use of an app, which is opened for it if need be. Rejects with the reason when it cannot be
   * opened; with `store.busy` when too many others are in use; with `store.closed` when the registry
   * does not know it, or the server closes.
   */
  async use(id: string): Promise<AppUse> {
    return (await this.#hold(id)).want();
  }

  /**
   * Works on an app in the background. That is no use: one that was opened for it is closed again
   * unless somebody came meanwhile, and one that is idle stays so. Rejects as `use` does.
   */
  async visit(id: string, work: Visit): Promise<void> {
    await this.#visit(await this.#hold(id), work);
  }

  /** As visit, if the app is open. */
  async visitOpen(id: string, work: Visit): Promise<void> {
    const held = this.#open.get(id)?.hold();
    if (held !== undefined) await this.#visit(held, work);
  }

  /** Of several visitors the last closes it, unless somebody has come to use it. */
  async #visit(held: HeldApp, work: Visit): Promise<void> {
    await held.visit(work);
    const isLeft = held.isFree && !held.isWanted && this.#open.get(held.app.id) === held;
    if (isLeft) await this.#close(held);
  }

  /**
   * Closes an app that was deleted from the registry. Nobody gets it from now on; those who have it
   * get a little time to end, and their statements are stopped. What goes wrong is logged.
   */
  async closeApp(id: string): Promise<void> {
    const opening = this.#openings.get(id);
    if (opening !== undefined) await opening.catch(() => {});
    const held = this.#open.get(id);
    if (held === undefined) await this.#closings.get(id);
    else await this.#close(held, this.#options.closeMsMax ?? CLOSE_MS_MAX);
    this.#failures.delete(id);
  }

  /** Closes all apps, whoever uses them. May be called again. */
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
      // Before anybody else gets a turn, who might close it.
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

  /** All who come while it is being opened wait for the same opening. */
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

  /** Each app has files and address space: where they are used up, the quietest one goes. */
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
    // It may have been deleted while a place was made for it.
    if (app === undefined) throw closedError(`expected the app ${id}, found it deleted`);
    try {
      const opened = await OpenApp.open(app, host, known);
      try {
        return this.#prepare(opened);
      } catch (error) {
        // Its place is given back, so its files must be as well.
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

  /** Nobody finds it any more when this returns. What fails is logged. */
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

/** An app and those who hold it. It is itself their use: so a use costs a counter, and no more. */
class HeldApp implements AppUse {
  readonly app: OpenApp;
  readonly #onClosing: () => void;
  #holderCount = 0;
  /** Until whoever opened it has it. */
  #isFresh = true;
  #isEnding = false;
  #onFree: (() => void) | undefined;
  /** Looks at it since its last use. */
  quietRounds = 0;
  /** Whether somebody has used it, not only visited. */
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

  /** Whoever calls it has held it. */
  async visit(work: Visit): Promise<void> {
    try {
      await work(this.app, () => this.#isEnding);
    } finally {
      this.release();
    }
  }

  /** Before the closing: stops statements, and waits until nobody holds it, for so long. */
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
