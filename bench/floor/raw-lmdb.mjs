/**
 * Floor of all benchmarks that write: the lmdb package alone, with the settings of the store and
 * its own msgpack encoding with shared structures. It makes exactly the puts that the store makes.
 */
import { open } from "lmdb";

const keyEncoder = {
  writeKey: (key, target, position) => position + target.latin1Write(key, position),
  readKey: (source, start, end) => source.latin1Slice(start, end),
};

export function openRaw(folder) {
  return open({
    path: folder,
    noSubdir: false,
    encoding: "msgpack",
    sharedStructuresKey: "\x00structures",
    keyEncoder,
    overlappingSync: false,
    mapSize: 2 ** 36,
  });
}

/** One commit. Durable when it resolves. */
export function putGroup(raw, group) {
  return raw.batch(() => {
    for (const [key, value] of group) {
      if (value === undefined) raw.remove(key);
      else raw.put(key, value);
    }
  });
}

/** Records the commits of a store, so that the floor can repeat them. */
export class Recorder {
  constructor(storage) {
    this.storage = storage;
    this.groups = undefined;
  }
  snapshot() {
    return this.storage.snapshot();
  }
  commit(writes) {
    this.groups?.push([...writes]);
    return this.storage.commit(writes);
  }
}
