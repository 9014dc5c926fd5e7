/**
 * Event hub: an event emitter that holds the listeners of a peer by the name of the event.
 */

/**
 * A function that receives the events of one name. Its result is ignored. If it throws, or returns
 * a promise that rejects, Node prints a process warning, a browser writes to its console, and the
 * peer continues.
 *
 * @example
 * const showStatus: Listener<SyncStatus> = ({ state }) => console.log(state);
 * const remove = peer.on("status", showStatus);
 * remove();
 */
export type Listener<T> = (event: T) => unknown;

export class EventHub<Events> {
  readonly #warn: (warning: Error | string) => void;
  readonly #listeners = new Map<keyof Events, Set<Listener<never>>>();

  /** `warn` receives what a listener throws. */
  constructor(warn: (warning: Error | string) => void) {
    this.#warn = warn;
  }

  /** Returns a function that removes the listener. */
  on<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): () => void {
    const listeners = this.#listeners.get(name) ?? new Set<Listener<never>>();
    this.#listeners.set(name, listeners);
    // The same function may be added twice.
    const own: Listener<Events[Name]> = (details) => listener(details);
    listeners.add(own);
    return () => listeners.delete(own);
  }

  /**
   * False if there is no listener. A listener that throws or rejects does not affect the others:
   * the host shows it as a warning.
   */
  emit<Name extends keyof Events>(name: Name, details: Events[Name]): boolean {
    const warn = (error: unknown): void =>
      this.#warn(error instanceof Error ? error : String(error));
    const listeners = [...(this.#listeners.get(name) ?? [])];
    for (const listener of listeners) {
      try {
        const given = (listener as Listener<Events[Name]>)(details);
        if (given instanceof Promise) given.catch(warn);
      } catch (error) {
        warn(error);
      }
    }
    return listeners.length > 0;
  }
}
