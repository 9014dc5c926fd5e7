/**
 * List helper: appends to lists that mostly have one element, without reserving room for more.
 */

/** As push, where undefined is the empty list. */
export function added<T>(list: T[] | undefined, element: T): T[] {
  if (list === undefined) return [element];
  list.push(element);
  return list;
}
