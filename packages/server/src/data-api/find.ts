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
        owner: credential.id,
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
  const scan = indexScanOf(plan);
  const access = scan === undefined ? { full_scan: {} } : { index_scan: scan };
  return { id: "query_details", fields: { ...access, plan } };
}

/** The first index that documents are looked up in, with the path of its first key that is known. */
function indexScanOf(step: ValueObject): ValueObject | undefined {
  if (step["#operator"] === "idScan") return { path: ["_id"] };
  const { desc } = step;
  if (step["#operator"] === "indexScan" && isObject(desc)) {
    const [span] = objectsIn(desc["spans"]);
    return { index: desc["index"] ?? null, path: span?.["key"] ?? [] };
  }
  for (const child of objectsIn(step["children"])) {
    const found = indexScanOf(child);
    if (found !== undefined) return found;
  }
  return undefined;
}

function objectsIn(list: Value | undefined): readonly ValueObject[] {
  return list !== undefined && isArray(list) ? list.filter(isObject) : [];
}
