/**
 * chooseFor: chooses the access path of a FROM term at run time, when the indexes are known.
 */

import type { IndexDefinition } from "../../store/index-entry.ts";
import type { Needed } from "../../store/view.ts";
import type { DocumentView, KnownValues } from "../frame/document-view.ts";
import type { Steps } from "../frame/steps.ts";
import { type AccessTerm, type Chosen, chooseAccess, SCAN, type Wish } from "../plan/access.ts";
import type { SourcePlan } from "../plan/plan.ts";
import type { Probe, ProbeTerm, Test } from "../plan/probe.ts";
import { fieldsOf } from "../plan/reads.ts";
import type { Expression } from "../syntax/tree.ts";
import type { Execution } from "./execution.ts";
import type { Explaining } from "./plan-explainer.ts";
import type { Profile } from "./profile.ts";

/** The part of an execution that the choice depends on. */
export interface Choosing {
  readonly isStrict: boolean;
  readonly view: Pick<DocumentView, "indexesOf" | "knownValuesOf">;
  /** Statistics for PROFILE. */
  readonly profile?: Profile;
}

/** The access path of a term. Reads with declared types or in strict mode use no index. */
export function chooseFor(source: SourcePlan, wish: Wish, { isStrict, view }: Choosing): Chosen {
  const { ids, collection, types } = source;
  if (ids !== undefined) return { access: ids, isOrdered: false };
  if (collection.kind !== "stored") return { access: SCAN, isOrdered: false };
  const isPlain = types === undefined && !isStrict;
  const indexes = isPlain && couldUseIndex(source, wish) ? view.indexesOf(collection.name) : [];
  const known = indexes.length === 0 ? [] : (view.knownValuesOf?.(collection.name) ?? []);
  return chooseAccess(known.length === 0 ? source : withKnown(source, known), wish, indexes);
}

/** The condition of the term AND the values known for all documents that the caller may read. */
function withKnown(source: SourcePlan, known: readonly KnownValues[]): AccessTerm {
  const { probe, reads, hint } = source;
  const asked = probe?.kind === "all" ? probe.parts : probe === undefined ? [] : [probe];
  const parts: Probe[] = [...known.map(knownTerm), ...asked];
  return { probe: { kind: "all", parts }, reads, hint };
}

function knownTerm({ path, values }: KnownValues): ProbeTerm {
  const nodes = values.map((value): Expression => {
    return { kind: "literal", value: value as string | number | boolean, at: 0 };
  });
  const [only] = nodes;
  const test: Test =
    only !== undefined && nodes.length === 1
      ? { kind: "equal", value: only }
      : { kind: "member", list: { kind: "array", elements: nodes, at: 0 } };
  return { kind: "term", path, test };
}

/** The fields that are read. Declared and strict reads need the whole document with its types. */
export function neededOf({ reads, types }: SourcePlan, isStrict: boolean): Needed {
  if (reads === undefined || types !== undefined || isStrict) return {};
  return { fields: fieldsOf(reads) };
}

function couldUseIndex({ probe }: SourcePlan, { order }: Wish): boolean {
  return probe !== undefined || order !== undefined;
}

/**
 * The same with the indexes that the caller may know of: those of collections in which the caller
 * may read a document. Finding them may take many documents, so it pauses.
 */
export function* explainedChoosing(execution: Execution): Steps<Choosing> {
  const { isStrict, profile, view } = execution;
  const explained = new Set<string>();
  for (const index of view.indexes()) {
    if (index === undefined) yield;
    else explained.add(index.collection);
  }
  const indexesOf = (collection: string): readonly IndexDefinition[] =>
    explained.has(collection) ? view.indexesOf(collection) : [];
  const knownValuesOf = (collection: string): readonly KnownValues[] =>
    view.knownValuesOf?.(collection) ?? [];
  return { isStrict, view: { indexesOf, knownValuesOf }, ...(profile && { profile }) };
}

/** The choices that EXPLAIN shows. */
export function explaining(choosing: Choosing): Explaining {
  const { profile } = choosing;
  return {
    choose: (source, wish) => chooseFor(source, wish, choosing),
    ...(profile && {
      statsOf: (node) => profile.statsOf(node),
      entriesRead: (index) => profile.entriesRead(index),
    }),
  };
}
