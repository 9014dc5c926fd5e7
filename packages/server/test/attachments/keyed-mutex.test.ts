import { expect, test } from "vitest";
import { KeyedMutex } from "../../src/attachments/keyed-mutex.ts";

/** Work that notes when it begins and ends, and ends when it is told to. */
class Notes {
  readonly notes: string[] = [];
  readonly #ends = new Map<string, () => void>();

  work(name: string): () => Promise<string> {
    return async () => {
      this.notes.push(`${name} begins`);
      await new Promise<void>((resolve) => this.#ends.set(name, resolve));
      this.notes.push(`${name} ends`);
      return name;
    };
  }

  async end(name: string): Promise<void> {
    await settle();
    this.#ends.get(name)?.();
    await settle();
  }
}

function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

test("tasks of one key run one after the other, those of other keys do not wait", async () => {
  const turns = new KeyedMutex();
  const notes = new Notes();
  const all = [
    turns.run(["a"], notes.work("first")),
    turns.run(["a", "b"], notes.work("both")),
    turns.run(["b"], notes.work("last")),
    turns.run(["c"], notes.work("other")),
  ];
  await notes.end("other");
  await notes.end("first");
  await notes.end("both");
  await notes.end("last");
  expect(await Promise.all(all)).toEqual(["first", "both", "last", "other"]);
  expect(notes.notes).toEqual([
    "first begins",
    "other begins",
    "other ends",
    "first ends",
    "both begins",
    "both ends",
    "last begins",
    "last ends",
  ]);
});

test("a task that fails releases the mutex like any other", async () => {
  const turns = new KeyedMutex();
  const failed = turns.run(["a"], () => Promise.reject(new Error("no")));
  const next = turns.run(["a"], () => Promise.resolve("yes"));
  await expect(failed).rejects.toThrow("no");
  expect(await next).toBe("yes");
});
