export function differenceOfFiles(one: string, other: string): string | undefined;
export function differenceOfDocuments(
  sources: readonly string[],
  exported: string,
): Promise<string | undefined>;
export function differenceOfFolders(one: string, other: string): string | undefined;
