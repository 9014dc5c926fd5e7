/**
 * Groups of options that many commands share.
 */

import type { OptionDefinition, OptionGroup } from "../program/definition.ts";
import { FORMATS } from "../terminal/output.ts";

const PROFILE: OptionDefinition = {
  name: "profile",
  argument: "NAME",
  meaning: "profile of bigpeer login (BIGPEER_PROFILE)",
};

export const DATA: OptionGroup = {
  title: "Server",
  options: [
    { name: "url", argument: "URL", meaning: "address of the server (BIGPEER_URL)" },
    {
      name: "key",
      argument: "KEY",
      meaning: "API key; other users of the machine can see it, prefer BIGPEER_KEY",
    },
    PROFILE,
  ],
};

export const MANAGEMENT: OptionGroup = {
  title: "Server",
  options: [
    {
      name: "management-url",
      argument: "URL",
      meaning:
        "address of the management API (BIGPEER_MANAGEMENT_URL); its token is in BIGPEER_ADMIN_TOKEN",
    },
    PROFILE,
  ],
};

export const BOTH: OptionGroup = {
  title: "Server",
  options: [...DATA.options, ...MANAGEMENT.options.filter((option) => option !== PROFILE)],
};

export const APP: OptionDefinition = {
  name: "app",
  short: "a",
  argument: "APP",
  meaning: "name or id of the app; default: default",
};

export const YES: OptionDefinition = {
  name: "yes",
  short: "y",
  meaning: "do it without a question",
};

export const OUTPUT: OptionGroup = {
  title: "Output",
  options: [
    {
      name: "format",
      short: "f",
      argument: "FORMAT",
      choices: FORMATS,
      meaning: "form of the data; default: table on a terminal, json elsewhere",
    },
    { name: "output", short: "o", argument: "FILE", meaning: "write the data to a file" },
    { name: "quiet", short: "q", meaning: "print nothing but data and errors" },
    { name: "no-color", meaning: "print without colours (NO_COLOR)" },
  ],
};

/** Options of one command before the shared ones. */
export function own(...options: readonly OptionDefinition[]): OptionGroup {
  return { title: "Options", options };
}
