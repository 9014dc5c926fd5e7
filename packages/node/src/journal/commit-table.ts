/**
 * CommitTable: the committed writes of a storage that are not in its tree yet, and the views that
 * read them together with the tree.
 *
 * Commits go into the active layer. When it is frozen a new one begins above it; the frozen one is
 * written to the tree, in the background, and then dropped. Views that were taken before keep their
 * layers.
 */

import { assert } from "@bigpeer/protocol";
import type { EncodedWrite } from "../lmdb/encoded-write.ts";
import type { View } from "../lmdb/held-snapshot.ts";
import type { PageEstimate } from "../lmdb/page-estimate.ts";
import { atOnce } from "../slices.ts";
import type { JournaledWrites } from "./journal-payload.ts";
import type { JournalTree, TreeView } from "./journal-tree.ts";
import { LayeredView } from "./layered-view.ts";
import { type LayerPlan, TableLayer } from "./table-layer.ts";

/** What adding the writes of a commit needs. */
export interface TablePlan {
  /** The pages of each commit of the tree to come. */
  readonly pages: readonly PageEstimate[];
  readonly plan: LayerPlan;
}

interface AddedAt<P> {
  readonly position: P;
  readonly plan: LayerPlan;
}

/** `P`: as in TableLayer. */
export class CommitTable<P = unknown> {
  readonly #tree: JournalTree;
  readonly #pageSize: number;
  #active: TableLayer<P>;
  #frozen: TableLayer<P> | undefined;
  #version = 0;
  #state: object = {};
  /** The newest state; this class holds one reference to it. */
  #current: LayeredView | undefined;
  /** The newest state of the tree, for all views until the tree changes; one reference. */
  #treeView: TreeView | undefined;
  /** Open views, the newest state included if it was read. */
  readonly #views = new Set<LayeredView>();
  /** Open views of each layer. */
  readonly #readers = new Map<TableLayer, number>();
  /** Memory of layers that only old views read. */
  #retainedBytes = 0;

  constructor(tree: JournalTree) {
    this.#tree = tree;
    this.#pageSize = tree.pageSize;
    this.#active = new TableLayer(this.#pageSize);
  }

  get isEmpty(): boolean {
    return this.#active.isEmpty && this.#frozen === undefined;
  }

  get active(): TableLayer<P> {
    return this.#active;
  }

  /** The layer that is being written to the tree. */
  get frozen(): TableLayer<P> | undefined {
    return this.#frozen;
  }

  /** Position of the last commit; undefined when the table is empty. */
  get position(): P | undefined {
    return this.#active.position ?? this.#frozen?.position;
  }

  /** Memory that only old views need. */
  get retainedBytes(): number {
    return this.#retainedBytes;
  }

  /** Whether a view keeps a layer that nothing else needs. */
  isRetaining(view: View): boolean {
    if (!(view instanceof LayeredView)) return false;
    return view.layers.some((layer) => layer !== this.#active && layer !== this.#frozen);
  }

  /** The newest state. Counts one reference for the caller. */
  view(): LayeredView {
    return this.#hold().share();
  }

  /** Keeps the current state: until the next commit is visible, all new views show it. */
  hold(): void {
    this.#hold();
  }

  plan(values: readonly EncodedWrite[]): TablePlan {
    return atOnce(this.planInSteps(values));
  }

  /** What adding these writes needs. The active layer must not change in the pauses. */
  *planInSteps(values: readonly EncodedWrite[]): Generator<void, TablePlan> {
    const plan = yield* this.#active.planInSteps(values);
    const pages = this.#frozen === undefined ? [plan.pages] : [this.#frozen.pages, plan.pages];
    return { pages, plan };
  }

  /** Makes the writes of a commit visible. The layer is the one that the plan was made for. */
  add(writes: JournaledWrites, { position, plan }: AddedAt<P>): void {
    // A commit without values leaves the state as it is.
    if (writes.values.length > 0) this.#advance();
    const keepsOlder = this.#views.size > 0;
    this.#active.add(writes, { version: this.#version, position, keepsOlder, plan });
  }

  /** As add, with pauses: until it is done, new views show the state before. */
  *addInSteps(writes: JournaledWrites, { position, plan }: AddedAt<P>): Generator<void, void> {
    const version = this.#version + 1;
    // A view may be opened in a pause.
    yield* this.#active.addInSteps(writes, { version, position, keepsOlder: true, plan });
    this.#advance();
  }

  /** Begins a new state after a commit that the tree got directly. */
  advance(): void {
    this.#advance();
    this.dropTreeView();
  }

  #advance(): void {
    this.#dropCurrent();
    this.#version++;
    this.#state = {};
  }

  /** Begins a new layer above the active one, which is returned, and is not changed any more. */
  freeze(): TableLayer<P> {
    assert(this.#frozen === undefined, "one frozen layer at a time");
    this.#frozen = this.#active;
    this.#active = new TableLayer(this.#pageSize);
    this.#dropCurrent();
    return this.#frozen;
  }

  /** Called when the tree has the frozen layer. */
  dropFrozen(): void {
    const layer = this.#frozen;
    assert(layer !== undefined, "a frozen layer");
    // Before, so that its own view does not count as an old one.
    this.dropViews();
    this.#frozen = undefined;
    if (this.#readers.has(layer)) this.#retainedBytes += layer.bytes;
  }

  /** Gives back the own references: the next view is made anew. */
  dropViews(): void {
    this.#dropCurrent();
    this.dropTreeView();
  }

  /** Called when the tree has changed: an old view of it would keep pages from being used again. */
  dropTreeView(): void {
    const view = this.#treeView;
    this.#treeView = undefined;
    view?.release();
  }

  #dropCurrent(): void {
    const current = this.#current;
    this.#current = undefined;
    current?.release();
  }

  #hold(): LayeredView {
    this.#current ??= this.#open();
    return this.#current;
  }

  #open(): LayeredView {
    const layers = [this.#active, this.#frozen].filter((layer) => layer?.isEmpty === false);
    // Beginning a read costs as much as some reads.
    this.#treeView ??= this.#tree.view();
    const state = {
      state: this.#state,
      version: this.#version,
      layers: layers as TableLayer[],
      tree: this.#treeView.share(),
    };
    const view = new LayeredView(state, this.#tree.reader, (ended) => this.#ended(ended));
    this.#views.add(view);
    for (const layer of view.layers) this.#readers.set(layer, (this.#readers.get(layer) ?? 0) + 1);
    return view;
  }

  #ended(view: LayeredView): void {
    this.#views.delete(view);
    for (const layer of view.layers) {
      const count = (this.#readers.get(layer) ?? 1) - 1;
      if (count > 0) this.#readers.set(layer, count);
      else {
        this.#readers.delete(layer);
        if (layer !== this.#active && layer !== this.#frozen) this.#retainedBytes -= layer.bytes;
      }
    }
  }
}
