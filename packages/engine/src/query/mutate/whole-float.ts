/**
 * findWholeFloat: finds a float without a fraction, which is stored as an integer (V2), for a
 * warning.
 *
 * An integer divided by an integer is an integer, so a stored `2.5 * 2` gives 2 when it is divided
 * by 2. A statement that stores such floats warns of the first one.
 */

import { normalNumber, type Value } from "@bigpeer/protocol";
import type { Warnings } from "../run/warnings.ts";
import { printPath } from "../syntax/print-path.ts";
import { spend } from "../value/cost-meter.ts";
import { Float, isDatumArray, type PresentDatum } from "../value/datum.ts";

/** A float that is stored as an integer, with its path of field names and array positions. */
export interface WholeFloat {
  readonly path: readonly (string | number)[];
  readonly value: number;
}

/**
 * The first float in the datum of a field that is stored as an integer. Costs nothing if there is
 * none: then the stored value is the same object.
 */
export function findWholeFloat(
  datum: PresentDatum,
  stored: Value,
  field: readonly string[],
): WholeFloat | undefined {
  return datum === stored ? undefined : search(datum, [...field]);
}

function search(datum: PresentDatum, path: (string | number)[]): WholeFloat | undefined {
  if (datum instanceof Float) return { path: [...path], value: datum.value };
  if (typeof datum !== "object" || datum === null || datum instanceof Uint8Array) return undefined;
  const parts = isDatumArray(datum) ? datum.entries() : Object.entries(datum);
  for (const [step, part] of parts) {
    spend(1);
    path.push(step);
    const found = search(part, path);
    if (found !== undefined) return found;
    path.pop();
  }
  return undefined;
}

/** Longer names are not repeated in messages. */
const NAME_SHOWN_MAX = 100;

export function warnOfWholeFloat({ path, value }: WholeFloat, warnings: Warnings, id: Value): void {
  const name = printSteps(path);
  const integer = normalNumber(value).toString();
  const fact = `the float ${integer}.0 is stored as the integer ${integer}, and an integer divided by an integer drops the fraction`;
  const example = name === undefined ? "2.0" : `${name} / 2.0`;
  const hint = `divide by a float (${example}), or write CAST(… AS INTEGER) where an integer is meant`;
  warnings.add(`${name === undefined ? "" : `${name}: `}${fact}; ${hint}`, id);
}

function printSteps(steps: readonly (string | number)[]): string | undefined {
  let text = "";
  for (const step of steps) {
    if (typeof step === "number") text += `[${step}]`;
    else text += `${text === "" ? "" : "."}${printPath([step])}`;
    if (text.length > NAME_SHOWN_MAX) return undefined;
  }
  return text;
}
