/**
 * What PROFILE tells, without times: those differ from run to run.
 */

import { isArray, isObject, type Value, type ValueObject } from "@bigpeer/protocol";

export function withoutTimes(profile: ValueObject): ValueObject {
  return { ...profile, times: 0, plan: withoutStatTimes(profile["plan"] ?? null) };
}

function withoutStatTimes(value: Value): Value {
  if (isArray(value)) return value.map(withoutStatTimes);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([name, part]): [string, Value] =>
    name === "#stats" && isObject(part)
      ? [name, { ...part, time: 0 }]
      : [name, withoutStatTimes(part)],
  );
  return Object.fromEntries(entries);
}
