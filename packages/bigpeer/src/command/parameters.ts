/**
 * Parameters of a statement or a filter: the options `--param` and `--args`.
 */

import type { ValueObject } from "@bigpeer/protocol";
import type { Call, OptionDefinition } from "../program/definition.ts";
import { parameterOf } from "../shell/parameter.ts";
import { readObject } from "./json-argument.ts";

export const PARAMETERS: readonly OptionDefinition[] = [
  {
    name: "param",
    short: "p",
    argument: "NAME=VALUE",
    isList: true,
    meaning: "a parameter; VALUE is JSON, or text where it is none",
  },
  {
    name: "args",
    argument: "JSON",
    meaning: "all parameters as an object; @FILE reads a file",
  },
];

/** Throws UsageError. */
export async function parametersOf({
  options,
  host,
}: Pick<Call, "options" | "host">): Promise<ValueObject> {
  const text = options.text("args");
  const args = text === undefined ? {} : await readObject("--args", text, host);
  return { ...args, ...Object.fromEntries(options.list("param").map(parameterOf)) };
}
