/**
 * Gives databases that have no setting for it the durability that the peer has: each of their
 * transactions is strict, and a commit counts as done when all of them are complete.
 */

const open = new Set();
const begin = Reflect.get(IDBDatabase.prototype, "transaction");
let isStrict = false;

IDBDatabase.prototype.transaction = function transact(stores, mode, options) {
  if (mode !== "readwrite" || !isStrict) return begin.call(this, stores, mode, options);
  const begun = begin.call(this, stores, mode, { ...options, durability: "strict" });
  const ended = new Promise((resolve, reject) => {
    begun.addEventListener("complete", () => resolve());
    begun.addEventListener("abort", () => reject(begun.error));
  });
  open.add(ended);
  ended.finally(() => open.delete(ended)).catch(() => {});
  return begun;
};

export function beStrict(value) {
  isStrict = value;
}

/** Resolves when all transactions that were begun are complete. */
export async function completed() {
  while (open.size > 0) await Promise.all(open);
}
