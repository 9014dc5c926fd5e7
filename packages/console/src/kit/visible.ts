/**
 * Whether the page is visible, and work that repeats only while it is: nothing polls in a hidden tab,
 * nor while there is no session.
 */
import { isSessionLost } from "../api/request.ts";
import { computed, type ReadonlySignal, type Signal, signal, useEffect, useRef } from "./preact.ts";

export const isVisible: Signal<boolean> = signal(!document.hidden);

document.addEventListener("visibilitychange", () => {
  isVisible.value = !document.hidden;
});

/** Whether requests are of use: the page is visible, and its session has not ended. */
export const isActive: ReadonlySignal<boolean> = computed(
  () => isVisible.value && !isSessionLost.value,
);

/**
 * Runs `work` at once, then `intervalMs` after the end of the last run. It waits while the page is
 * hidden or the session has ended, and goes on at once afterwards. `key` starts it anew when it changes.
 */
export function usePoll(work: () => Promise<void>, intervalMs: number, key = ""): void {
  const latest = useRef(work);
  latest.current = work;
  useEffect(() => {
    const loop = new PollLoop(() => latest.current(), intervalMs);
    const stop = isActive.subscribe((isWanted) => loop.setActive(isWanted));
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

  setActive(isWanted: boolean): void {
    this.#isActive = isWanted;
    clearTimeout(this.#timer);
    if (isWanted && !this.#isRunning) void this.#run();
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
