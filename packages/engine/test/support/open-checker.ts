/**
 * A judge that can be held open: whatever is asked meanwhile, every document may be read. For faults
 * that are planted.
 */

import { PermissionChecker } from "../../src/query/permission/permission-checker.ts";
import { replace } from "./replaced-method.ts";

/** While it is above zero, whatever asks may read every document. */
let open = 0;

/** Makes all judges such; returns what makes them as they were. */
export function plantOpenChecker(): () => void {
  return replace(
    PermissionChecker.prototype,
    "mayRead",
    (original) =>
      function mayRead(this: PermissionChecker, ...args) {
        return open > 0 || original.apply(this, args);
      },
  );
}

export function unchecked<T>(work: () => T): T {
  open++;
  try {
    return work();
  } finally {
    open--;
  }
}

/** Only while the next one is looked for: what happens with those found is judged as ever. */
export function* uncheckedEach<T>(found: Iterable<T>): Iterable<T> {
  const iterator = found[Symbol.iterator]();
  for (;;) {
    const { done, value } = unchecked(() => iterator.next());
    if (done === true) return;
    yield value;
  }
}
