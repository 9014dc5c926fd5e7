/**
 * Event subject: fills the template of a sink, such as `changes.{collection}.{type}`, with the
 * fields of a change.
 */

import { stringifyJson, type Value } from "@bigpeer/protocol";
import type { SUBJECT_FIELDS } from "../registry/sinks.ts";

type SubjectFields = Readonly<Record<(typeof SUBJECT_FIELDS)[number], Value>>;

/** Characters with a meaning in subjects, and those that NATS does not allow there. */
const RESERVED = /[\s.*>\p{Cc}]/gu;

/** Each field stays within its token: reserved characters become `_`. */
export function subjectOf(template: string, fields: SubjectFields): string {
  return template.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = fields[name as keyof SubjectFields];
    if (value === undefined) return whole;
    const text = typeof value === "string" ? value : stringifyJson(value);
    return text.replace(RESERVED, "_") || "_";
  });
}
