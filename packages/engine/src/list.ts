/**
 * Lists that mostly have one element: made with it, because one that grows takes room for many more.
 */

/** As push; undefined is the empty list. */
export function added<T>(list: T[] | undefined, element: T): T[] {
  if (list === undefined) return [element];
  list.push(element);
  return list;
}
