/**
 * OrderedTree: a persistent (immutable) ordered map. A change returns a new tree, which shares all
 * but the path from the root to one leaf with the old one, so keeping an old state costs nothing.
 *
 * It is a B+tree: all entries are in leaves, all leaves at the same depth. A node holds at most
 * SIZE_MAX items; one that falls below SIZE_MIN is merged with its neighbour.
 */

import type { Key, KeyRange } from "../platform.ts";

const SIZE_MAX = 32;
const SIZE_MIN = 8;

interface Leaf<V> {
  readonly kind: "leaf";
  readonly keys: readonly Key[];
  readonly values: readonly V[];
}

/** `keys[i]` is not above any key of `children[i]`, and above every key of `children[i - 1]`. */
interface Branch<V> {
  readonly kind: "branch";
  readonly keys: readonly Key[];
  readonly children: readonly Node<V>[];
}

type Node<V> = Leaf<V> | Branch<V>;

export class OrderedTree<V> {
  readonly #root: Node<V>;

  private constructor(root: Node<V>) {
    this.#root = root;
  }

  static empty<V>(): OrderedTree<V> {
    return new OrderedTree<V>({ kind: "leaf", keys: [], values: [] });
  }

  get(key: Key): V | undefined {
    let node = this.#root;
    while (node.kind === "branch") node = childAt(node, childIndex(node, key));
    const index = lowerBound(node.keys, key);
    return node.keys[index] === key ? node.values[index] : undefined;
  }

  with(key: Key, value: V): OrderedTree<V> {
    const nodes = put(this.#root, key, value);
    const [only] = nodes;
    return new OrderedTree<V>(nodes.length === 1 && only !== undefined ? only : branchOf(nodes));
  }

  /** Puts many entries at once: each node on their paths is copied once for all of them. */
  withAll(entries: Iterable<readonly [Key, V]>): OrderedTree<V> {
    const sorted = [...entries].sort(byKey);
    if (sorted.length === 0) return this;
    let nodes = putAll(this.#root, sorted, { start: 0, end: sorted.length });
    while (nodes.length > 1) nodes = parted(branchOf(nodes));
    return new OrderedTree<V>(nodes[0] as Node<V>);
  }

  without(key: Key): OrderedTree<V> {
    let root = remove(this.#root, key);
    if (root === this.#root) return this;
    while (root.kind === "branch" && root.children.length === 1) root = childAt(root, 0);
    return new OrderedTree<V>(root);
  }

  *entries({ from, to, reverse }: KeyRange): Generator<readonly [Key, V], void> {
    if (to <= from) return;
    const step = reverse === true ? -1 : 1;
    const way = new Way(this.#root, reverse === true ? to : from, step);
    let leaf: Leaf<V> | undefined = way.leaf;
    for (; leaf !== undefined; leaf = way.nextLeaf()) {
      let index = step > 0 ? lowerBound(leaf.keys, from) : lowerBound(leaf.keys, to) - 1;
      for (; index >= 0 && index < leaf.keys.length; index += step) {
        const key = leaf.keys[index] as Key;
        if (step > 0 ? key >= to : key < from) return;
        yield [key, leaf.values[index] as V];
      }
    }
  }
}

/** Cursor: the path from the root to the leaf of `key`, and on to the leaves beside it. */
class Way<V> {
  readonly #step: 1 | -1;
  readonly #branches: { readonly node: Branch<V>; index: number }[] = [];
  readonly leaf: Leaf<V>;

  constructor(root: Node<V>, key: Key, step: 1 | -1) {
    this.#step = step;
    let node = root;
    while (node.kind === "branch") {
      const index = childIndex(node, key);
      this.#branches.push({ node, index });
      node = childAt(node, index);
    }
    this.leaf = node;
  }

  nextLeaf(): Leaf<V> | undefined {
    let place = this.#branches.pop();
    while (place !== undefined && place.node.children[place.index + this.#step] === undefined) {
      place = this.#branches.pop();
    }
    if (place === undefined) return undefined;
    place.index += this.#step;
    this.#branches.push(place);
    return this.#descend(childAt(place.node, place.index));
  }

  #descend(top: Node<V>): Leaf<V> {
    let node = top;
    while (node.kind === "branch") {
      const index = this.#step > 0 ? 0 : node.children.length - 1;
      this.#branches.push({ node, index });
      node = childAt(node, index);
    }
    return node;
  }
}

/** The one node, or two after a split, that replace `node`. */
function put<V>(node: Node<V>, key: Key, value: V): Node<V>[] {
  if (node.kind === "leaf") return split(putInLeaf(node, key, value));
  const index = childIndex(node, key);
  const children = put(childAt(node, index), key, value);
  return split(branchOf(node.children.toSpliced(index, 1, ...children)));
}

function putInLeaf<V>(leaf: Leaf<V>, key: Key, value: V): Leaf<V> {
  const index = lowerBound(leaf.keys, key);
  if (leaf.keys[index] === key) {
    return { kind: "leaf", keys: leaf.keys, values: leaf.values.with(index, value) };
  }
  return {
    kind: "leaf",
    keys: leaf.keys.toSpliced(index, 0, key),
    values: leaf.values.toSpliced(index, 0, value),
  };
}

type Entry<V> = readonly [Key, V];

/** A part of a sorted list of entries. */
interface Run {
  readonly start: number;
  readonly end: number;
}

function byKey([a]: readonly [Key, unknown], [b]: readonly [Key, unknown]): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** The nodes that replace `node`. */
function putAll<V>(node: Node<V>, entries: readonly Entry<V>[], run: Run): Node<V>[] {
  if (node.kind === "leaf") return parted(mergedLeaf(node, entries, run));
  const children: Node<V>[] = [];
  let { start } = run;
  for (const [index, child] of node.children.entries()) {
    const next = node.keys[index + 1];
    const end = next === undefined ? run.end : endBelow(entries, { start, end: run.end }, next);
    if (end === start) children.push(child);
    else for (const changed of putAll(child, entries, { start, end })) children.push(changed);
    start = end;
  }
  return parted(branchOf(children));
}

/** The end of the entries of a run that are below a key. */
function endBelow<V>(entries: readonly Entry<V>[], { start, end }: Run, key: Key): number {
  let at = start;
  while (at < end && (entries[at] as Entry<V>)[0] < key) at++;
  return at;
}

function mergedLeaf<V>(leaf: Leaf<V>, entries: readonly Entry<V>[], { start, end }: Run): Leaf<V> {
  const keys: Key[] = [];
  const values: V[] = [];
  let next = 0;
  const keep = (upTo: number): void => {
    for (; next < upTo; next++) {
      keys.push(leaf.keys[next] as Key);
      values.push(leaf.values[next] as V);
    }
  };
  for (let i = start; i < end; i++) {
    const [key, value] = entries[i] as Entry<V>;
    while (next < leaf.keys.length && (leaf.keys[next] as Key) < key) keep(next + 1);
    if (leaf.keys[next] === key) next++;
    keys.push(key);
    values.push(value);
  }
  keep(leaf.keys.length);
  return { kind: "leaf", keys, values };
}

/** Splits a node of any size into nodes of about equal, allowed size. */
function parted<V>(node: Node<V>): Node<V>[] {
  const size = node.keys.length;
  if (size <= SIZE_MAX) return [node];
  const count = Math.ceil(size / SIZE_MAX);
  return Array.from({ length: count }, (_, i) =>
    part(node, Math.floor((i * size) / count), Math.floor(((i + 1) * size) / count)),
  );
}

/** The node that replaces `node`: itself when it has no such key. It may be empty. */
function remove<V>(node: Node<V>, key: Key): Node<V> {
  if (node.kind === "leaf") {
    const index = lowerBound(node.keys, key);
    if (node.keys[index] !== key) return node;
    return {
      kind: "leaf",
      keys: node.keys.toSpliced(index, 1),
      values: node.values.toSpliced(index, 1),
    };
  }
  const index = childIndex(node, key);
  const before = childAt(node, index);
  const after = remove(before, key);
  if (after === before) return node;
  if (after.keys.length >= SIZE_MIN || node.children.length === 1) {
    return branchOf(node.children.with(index, after));
  }
  const left = Math.max(0, index - 1);
  const pair = node.children.with(index, after).slice(left, left + 2);
  return branchOf(node.children.toSpliced(left, 2, ...split(join(pair))));
}

/** Merges two neighbours of the same kind into one node, perhaps too large. */
function join<V>(nodes: readonly Node<V>[]): Node<V> {
  const leaves = nodes.filter((node) => node.kind === "leaf");
  if (leaves.length === 0) {
    return branchOf(nodes.flatMap((node) => (node.kind === "branch" ? node.children : [])));
  }
  return {
    kind: "leaf",
    keys: leaves.flatMap((leaf) => leaf.keys),
    values: leaves.flatMap((leaf) => [...leaf.values]),
  };
}

function split<V>(node: Node<V>): Node<V>[] {
  if (node.keys.length <= SIZE_MAX) return [node];
  const middle = node.keys.length >> 1;
  return [part(node, 0, middle), part(node, middle, node.keys.length)];
}

function part<V>(node: Node<V>, start: number, end: number): Node<V> {
  const keys = node.keys.slice(start, end);
  return node.kind === "leaf"
    ? { kind: "leaf", keys, values: node.values.slice(start, end) }
    : { kind: "branch", keys, children: node.children.slice(start, end) };
}

function branchOf<V>(children: readonly Node<V>[]): Branch<V> {
  return { kind: "branch", keys: children.map((child) => child.keys[0] ?? ""), children };
}

/** The child that may hold `key`: the last one that does not begin above it. */
function childIndex<V>(branch: Branch<V>, key: Key): number {
  const index = lowerBound(branch.keys, key);
  return branch.keys[index] === key ? index : Math.max(0, index - 1);
}

function childAt<V>(branch: Branch<V>, index: number): Node<V> {
  return branch.children[index] as Node<V>;
}

/** The index of the first key that is not below `key`. */
function lowerBound(keys: readonly Key[], key: Key): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((keys[middle] as Key) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
