/**
 * Event hub: who wants to hear of what happens, by the name of the event.
 */

/** What it returns is nobody's matter; a promise is watched, because it may reject. */
export type Listener<T> = (news: T) => unknown;

export class EventHub<Events> {
  readonly #listeners = new Map<keyof Events, Set<Listener<never>>>();

  /** Returns the way to stop it. */
  on<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): () => void {
    const listeners = this.#listeners.get(name) ?? new Set<Listener<never>>();
    this.#listeners.set(name, listeners);
    // The same function may be given twice.
    const own: Listener<Events[Name]> = (news) => listener(news);
    listeners.add(own);
    return () => listeners.delete(own);
  }

  /**
   * False when nobody listens. A listener that throws or rejects is no matter of the others, nor of
   * ours: Node shows it as a warning.
   */
  emit<Name extends keyof Events>(name: Name, news: Events[Name]): boolean {
    const listeners = [...(this.#listeners.get(name) ?? [])];
    for (const listener of listeners) {
      try {
        const given = (listener as Listener<Events[Name]>)(news);
        if (given instanceof Promise) given.catch(warn);
      } catch (error) {
        warn(error);
      }
    }
    return listeners.length > 0;
  }
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error));
}
