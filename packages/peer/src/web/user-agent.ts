/**
 * User agent: the system and a name for the device, from what a browser says of itself.
 */

/** In the order of the search: later ones occur in the texts of earlier ones. */
const SYSTEMS: readonly (readonly [RegExp, string, string])[] = [
  [/Android/, "android", "Android"],
  [/iPhone|iPad|iPod/, "ios", "iOS"],
  [/Windows/, "win32", "Windows"],
  [/Mac OS X|Macintosh/, "darwin", "macOS"],
  [/Linux|X11|CrOS/, "linux", "Linux"],
];

const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/Edg(e|A|iOS)?\//, "Edge"],
  [/OPR\//, "Opera"],
  [/Firefox\/|FxiOS\//, "Firefox"],
  [/Chrome\/|CriOS\//, "Chrome"],
  [/Safari\//, "Safari"],
];

export interface Device {
  readonly os: string;
  readonly deviceName: string;
}

export function deviceOf(userAgent: string): Device {
  const [, os = "unknown", system] = SYSTEMS.find(([known]) => known.test(userAgent)) ?? [];
  const [, browser = "Browser"] = BROWSERS.find(([known]) => known.test(userAgent)) ?? [];
  return { os, deviceName: system === undefined ? browser : `${browser} on ${system}` };
}
