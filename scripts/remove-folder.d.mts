/** Types of remove-folder.mjs, for tests. */

export function removeFolder(folder: string): Promise<void>;
