/**
 * Journal recovery: brings a tree up to date with its journal when a store is opened that was not
 * closed cleanly. Afterwards the tree has everything, and there is no journal.
 */

import { decodeMark, encodeMark, type JournalMark, MARK_KEY } from "./journal-mark.ts";
import { readPayload } from "./journal-payload.ts";
import { type JournalContent, readJournal } from "./journal-reader.ts";
import type { JournalTree } from "./journal-tree.ts";
import type { SegmentFiles } from "./segment-files.ts";
import { TableLayer } from "./table-layer.ts";

/** What was found in a journal. */
export interface Replayed {
  readonly entries: number;
  readonly bytes: number;
}

/** Called before the entries of a journal are written to the tree, and when they are in it. */
export type OnReplay = (step: "begins" | "ends", replayed: Replayed) => void;

/** Returns the last position. Throws PeerError `store.corrupt`, and leaves everything as it was. */
export async function recover(
  tree: JournalTree,
  files: SegmentFiles,
  onReplay: OnReplay,
): Promise<number> {
  const mark = markOf(tree);
  const content = readJournal(files, mark);
  if (mark?.isOpen === true) await replay(tree, { content, mark, onReplay });
  await files.removeAll();
  return content.last;
}

export function markOf(tree: JournalTree): JournalMark | undefined {
  const view = tree.view();
  try {
    return decodeMark(view.recordBeside(MARK_KEY));
  } finally {
    view.release();
  }
}

/** The writes of all entries in one layer: of each key the last. */
export function layerOf({ entries }: JournalContent, pageSize: number): TableLayer {
  const layer = new TableLayer<number>(pageSize);
  for (const { position, payload } of entries) {
    const writes = readPayload(payload);
    const plan = layer.plan(writes.values);
    layer.add(writes, { version: 1, position, keepsOlder: false, plan });
  }
  return layer;
}

async function replay(
  tree: JournalTree,
  from: { readonly content: JournalContent; readonly mark: JournalMark; onReplay: OnReplay },
): Promise<void> {
  const { content, mark, onReplay } = from;
  const bytes = content.entries.reduce((sum, { payload }) => sum + payload.length, 0);
  const replayed = { entries: content.entries.length, bytes };
  if (replayed.entries > 0) onReplay("begins", replayed);
  await writeToTree(tree, layerOf(content, tree.pageSize), { ...mark, position: content.last });
  tree.loadShapes();
  if (replayed.entries > 0) onReplay("ends", replayed);
}

/** Writes a layer, and that the journal has nothing more. */
export async function writeToTree(
  tree: JournalTree,
  layer: TableLayer,
  mark: JournalMark,
): Promise<void> {
  await tree.reserve([layer.pages]);
  await tree.write({
    values: layer.newest(),
    beside: [...layer.beside, encodeMark({ ...mark, isOpen: false })],
    isReserved: true,
  });
}
