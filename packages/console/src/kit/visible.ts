/**
 * Whether the page is visible, and work that repeats only while it is: nothing polls in a hidden tab.
 */
import { type Signal, signal, useEffect, useRef } from "./preact.ts";

export const isVisible: Signal<boolean> = signal(!document.hidden);

document.addEventListener("visibilitychange", () => {
  isVisible.value = !document.hidden;
});

/**
 * Runs `work` at once, then `intervalMs` after the end of the last run. It waits while the page is
 * hidden, and goes on at once when the page is visible again. `key` starts it anew when it changes.
 */
export function usePoll(work: () => Promise<void>, intervalMs: number, key = ""): void {
  const latest = useRef(work);
  latest.current = work;
  useEffect(() => {
    const loop = new PollLoop(() => latest.current(), intervalMs);
    const stop = isVisible.subscribe((isShown) => loop.setActive(isShown));
    return () => {
      stop();
      loop.setActive(false);
    };
  }, [key, intervalMs]);
}

class PollLoop {
  readonly #work: () => Promise<void>;
  readonly #intervalMs: number;
  #isActive = false;
  #isRunning = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(work: () => Promise<void>, intervalMs: number) {
    this.#work = work;
    this.#intervalMs = intervalMs;
  }

  setActive(isActive: boolean): void {
    this.#isActive = isActive;
    clearTimeout(this.#timer);
    if (isActive && !this.#isRunning) void this.#run();
  }

  /** `work` handles its own failures. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    try {
      await this.#work();
    } finally {
      this.#isRunning = false;
      if (this.#isActive) this.#timer = setTimeout(() => void this.#run(), this.#intervalMs);
    }
  }
}
