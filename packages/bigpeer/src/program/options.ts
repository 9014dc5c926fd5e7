/**
 * Options: the parsed options of a command by their names.
 */

import { UsageError } from "./failure.ts";

export class Options {
  readonly #values: ReadonlyMap<string, unknown>;

  constructor(values: ReadonlyMap<string, unknown>) {
    this.#values = values;
  }

  text(name: string): string | undefined {
    const value = this.#values.get(name);
    return typeof value === "string" ? value : undefined;
  }

  has(name: string): boolean {
    const value = this.#values.get(name);
    return value !== undefined && value !== false;
  }

  /** Of an option that may be given several times. */
  list(name: string): readonly string[] {
    const value = this.#values.get(name);
    return Array.isArray(value) ? (value as string[]) : [];
  }

  /** Throws UsageError unless it is a whole number of at least `least`. */
  number(name: string, least = 1): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const number = Number(text);
    if (/^\d{1,15}$/.test(text) && number >= least) return number;
    throw new UsageError(`--${name}: expected a whole number from ${least} on, found "${text}"`);
  }

  /** Throws UsageError unless it is given. */
  required(name: string): string {
    const text = this.text(name);
    if (text === undefined) throw new UsageError(`expected the option --${name}`);
    return text;
  }
}
