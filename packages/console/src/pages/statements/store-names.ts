/**
 * Names of collections and fields for completion, read from the server and kept for a short time. A
 * server that is away has no names, and typing goes on.
 */
import { rowsOf } from "../../api/execute.ts";
import type { StoreNames } from "../../editor/statement-help.ts";
import { fieldPaths } from "../../values/field-paths.ts";
import { quoteName } from "../../values/names.ts";

const KEPT_MS = 10_000;

/** Documents whose fields stand for those of the collection. */
const SAMPLE = 20;

interface KeptNames {
  readonly names: Promise<readonly string[]>;
  readonly endMs: number;
}

export function storeNames(app: string): StoreNames {
  const kept = new Map<string, KeptNames>();
  const read = (
    key: string,
    load: () => Promise<readonly string[]>,
  ): Promise<readonly string[]> => {
    const known = kept.get(key);
    if (known !== undefined && performance.now() < known.endMs) return known.names;
    const names = load().catch(() => []);
    kept.set(key, { names, endMs: performance.now() + KEPT_MS });
    return names;
  };
  const collections = (): Promise<readonly string[]> => {
    return read("", async () => {
      const rows = await rowsOf<{ readonly name: string }>(
        app,
        "SELECT name FROM system:collections ORDER BY name",
      );
      return rows.map(({ name }) => name);
    });
  };
  const fields = async (collection: string): Promise<readonly string[]> => {
    // Another name would be a mistake in the log of the server.
    if (!(await collections()).includes(collection)) return [];
    return read(` ${collection}`, async () => {
      const statement = `SELECT * FROM ${quoteName(collection)} LIMIT ${SAMPLE}`;
      return fieldPaths(await rowsOf(app, statement));
    });
  };
  return { collections, fields };
}
