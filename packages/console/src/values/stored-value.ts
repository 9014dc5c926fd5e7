/**
 * A value that the tabs of a browser share, as JSON in its storage. Where storage is full or
 * forbidden, each tab has its own.
 */

/** The storage of a browser, or of a test. */
export interface TextStorage {
  getItem(key: string): string | null;
  setItem(key: string, text: string): void;
}

export interface StoredValueOptions<T> {
  readonly key: string;
  readonly initial: T;
  /** Refuses what an older version has stored. */
  readonly isValid: (value: unknown) => boolean;
  /** May throw. */
  readonly storage: () => TextStorage;
}

export class StoredValue<T> {
  readonly #options: StoredValueOptions<T>;
  /** The text in the storage as far as this tab knows: another one is of another tab. */
  #text: string | null = null;
  #value: T;

  constructor(options: StoredValueOptions<T>) {
    this.#options = options;
    this.#value = options.initial;
    this.refresh();
  }

  get value(): T {
    return this.#value;
  }

  /** Takes over what another tab has written meanwhile. Returns whether there was something. */
  refresh(): boolean {
    const text = this.#read();
    if (text === null || text === this.#text) return false;
    this.#text = text;
    const found = parse(text);
    if (!this.#options.isValid(found)) return false;
    this.#value = found as T;
    return true;
  }

  set(value: T): void {
    if (value === this.#value) return;
    this.#value = value;
    const text = JSON.stringify(value);
    try {
      this.#options.storage().setItem(this.#options.key, text);
      this.#text = text;
    } catch {
      // Full or forbidden: the value lasts as long as the page.
    }
  }

  #read(): string | null {
    try {
      return this.#options.storage().getItem(this.#options.key);
    } catch {
      return null;
    }
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
