/**
 * `POST /store/find`: the documents that a filter chooses, in the order and window that was asked
 * for. Without a sort they come in the order of their ids.
 */

import { isArray, isObject, type Value, type ValueObject } from "@bigpeer/protocol";
import { attachmentLinks } from "./attachment-link.ts";
import { documentFields } from "./document-fields.ts";
import { type Operation, whileWanted } from "./operation.ts";
import { checkFindRequest, type FindRequest } from "./schemas.ts";

const LIMIT = 1000;

export const FIND: Operation<FindRequest> = {
  name: "find",
  path: "/store/find",
  check: checkFindRequest,
  unreachedStatus: 400,
  run: async (find, call, { publicUrl }) => {
    const { app, request, credential } = call;
    const { documents, plan, transactionId } = await whileWanted(
      call,
      app.statements.find({
        collection: find.collection,
        query: find.query,
        args: find.args,
        sort: (find.sort ?? []).map(({ property, direction }) => ({
          property,
          isDescending: direction === "desc",
        })),
        limit: find.limit ?? LIMIT,
        offset: find.offset ?? 0,
        isPlanWanted: find.describe === true,
        isUnknownRefused: !app.settings.isUnknownEmpty,
        requestId: request.id,
        authority: credential.authority,
      }),
    );
    const linkOf = attachmentLinks(call, publicUrl);
    const found = documents.map((each) => ({
      id: each.id,
      fields: documentFields(each, find, linkOf),
    }));
    const details = plan === undefined ? [] : [queryDetails(plan)];
    return { body: { documents: [...details, ...found], txnId: transactionId } };
  },
};

/** How the documents are reached, as clients of before read it, and the plan as EXPLAIN has it. */
function queryDetails(plan: ValueObject): ValueObject {
  const access = usesIds(plan) ? { index_scan: { path: ["_id"] } } : { full_scan: {} };
  return { id: "query_details", fields: { ...access, plan } };
}

function usesIds(plan: ValueObject): boolean {
  return plan["#operator"] === "idScan" || childrenOf(plan).some(usesIds);
}

function childrenOf({ children }: ValueObject): ValueObject[] {
  return isArray(children ?? null) ? (children as readonly Value[]).filter(isObject) : [];
}
