/**
 * Store positions: how far each store of this node follows its log, durably. Other nodes ask for
 * them before they trim a log, or copy a store from here.
 *
 * A store that is closed has a file with its position, which is written when it is closed. It may
 * be too low after a crash: then the log keeps more than it must.
 */

import { join } from "node:path";
import { readJsonFile, writeJsonFile } from "@bigpeer/node";
import { isArray, isObject, type Value } from "@bigpeer/protocol";
import { appStoreFolder, registryFolder } from "../config/data-folder.ts";
import { isAppId } from "../registry/app.ts";
import { REGISTRY_STORE } from "../stores/stores.ts";

const FILE = "position.json";

export interface StorePosition {
  /** The last entry that is on the disk of the node; 0 if it does not have the store. */
  readonly sequence: number;
  readonly isEvaluating: boolean;
}

/** A store that is open here. */
export interface PositionedStore {
  readonly durableSequence: number;
  readonly replica: { readonly role: string };
}

export interface StorePositionsHost {
  readonly dataDir: string;
  /** Undefined if the store is closed. */
  readonly opened: (store: string) => PositionedStore | undefined;
  /** The lowest entry that copies of a store under way need; infinite without copies. */
  readonly held: (store: string) => number;
}

export class StorePositions {
  readonly #host: StorePositionsHost;

  constructor(host: StorePositionsHost) {
    this.#host = host;
  }

  of(store: string): StorePosition {
    const { opened, held } = this.#host;
    const open = opened(store);
    const sequence = open?.durableSequence ?? this.#closedAt(store);
    return {
      sequence: Math.min(sequence, held(store)),
      isEvaluating: open?.replica.role === "evaluating",
    };
  }

  /** Answers the procedure `positions`, whose argument is a list of stores. */
  answer(value: Value): Value {
    const { stores } = isObject(value) ? value : {};
    if (!isArray(stores)) return [];
    return stores.map((store) => {
      return typeof store === "string" ? { ...this.of(store) } : null;
    });
  }

  #closedAt(store: string): number {
    const folder = storeFolderOf(this.#host.dataDir, store);
    return folder === undefined ? 0 : (readPosition(folder) ?? 0);
  }
}

/** Reads what another node has answered, in the order of the stores that were asked for. */
export function positionsOf(value: Value): StorePosition[] {
  if (!isArray(value)) return [];
  return value.map((each) => {
    const { sequence, isEvaluating } = isObject(each) ? each : {};
    return {
      sequence: typeof sequence === "number" ? sequence : 0,
      isEvaluating: isEvaluating === true,
    };
  });
}

/** Undefined if the text names no store. */
export function storeFolderOf(dataDir: string, store: string): string | undefined {
  if (store === REGISTRY_STORE) return registryFolder(dataDir);
  return isAppId(store) ? appStoreFolder(dataDir, store) : undefined;
}

/** Records the position of a store that was closed. */
export function writePosition(folder: string, sequence: number): void {
  writeJsonFile(join(folder, FILE), { sequence });
}

/** Undefined if it was not recorded. */
function readPosition(folder: string): number | undefined {
  try {
    const content = readJsonFile(join(folder, FILE));
    const { sequence } = isObject(content ?? null) ? (content as { sequence?: Value }) : {};
    return typeof sequence === "number" ? sequence : undefined;
  } catch {
    // Only a hint.
    return undefined;
  }
}
