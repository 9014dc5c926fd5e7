/**
 * Shown setting: what a setting was read as, and from where, for an operator. Secrets are left out.
 */

import type { Setting, SettingName } from "./setting.ts";

export interface ShownSetting {
  readonly name: SettingName;
  /** As a flag would give it; null for none, and for a secret. */
  readonly value: string | null;
  readonly source: "default" | "option" | "environment" | "file";
  readonly description: string;
  readonly isSecret: boolean;
  /** Whether there is a value, which for a secret is not shown. */
  readonly isSet: boolean;
}

/** A value with where it came from, as config.ts finds it. */
export interface FoundValue {
  readonly text: string;
  readonly source: string;
  readonly isDefault?: true;
  /** Whether it came from the file. */
  readonly isHidden?: true;
}

/** User and password in a URL, such as that of a NATS server. */
const USER_INFO = /\/\/[^@/,\s]*@/g;

export function shownSetting(setting: Setting, found: FoundValue): ShownSetting {
  const { name, flag, meaning: description } = setting;
  // A secret has no flag: every user of the machine can read a command line.
  const isSecret = flag === undefined;
  const isSet = found.text !== "";
  const value = isSecret || !isSet ? null : found.text.replaceAll(USER_INFO, "//…@");
  return { name, value, source: sourceOf(found), description, isSecret, isSet };
}

function sourceOf({ source, isDefault, isHidden }: FoundValue): ShownSetting["source"] {
  if (isDefault === true) return "default";
  if (isHidden === true) return "file";
  return source.startsWith("--") ? "option" : "environment";
}
