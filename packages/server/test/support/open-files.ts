/**
 * The files that this process has open, where the system tells.
 */

import { readdirSync, readlinkSync } from "node:fs";

/** Whether the system tells. */
export const hasOpenFiles: boolean = process.platform === "linux";

/** The paths of open files in a folder, each as often as it is open. */
export function openFilesIn(folder: string): string[] {
  return readdirSync("/proc/self/fd").flatMap((descriptor) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${descriptor}`);
      return path.startsWith(`${folder}/`) ? [path] : [];
    } catch {
      // The one by which the folder was read is closed again.
      return [];
    }
  });
}
