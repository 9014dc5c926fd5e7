/**
 * The names of the collections of an app, for fields that propose them.
 */
import { useLoad } from "../kit/use-load.ts";
import { rowsOf } from "./execute.ts";

const NO_NAMES: readonly string[] = [];

export function useCollectionNames(app: string): readonly string[] {
  const { value = NO_NAMES } = useLoad(app, (signal) => collectionNames(app, signal));
  return value;
}

async function collectionNames(app: string, signal: AbortSignal): Promise<readonly string[]> {
  const statement = "SELECT name FROM system:collections";
  const rows = await rowsOf<{ readonly name: string }>(app, statement, { signal });
  return rows.map(({ name }) => name).sort();
}
