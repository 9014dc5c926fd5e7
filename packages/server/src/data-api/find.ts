/**
 * `POST /store/find`: reads the documents that match a filter, with sort, limit and offset. Without
 * a sort they come in the order of their ids (H20).
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

/** Describes the access path as older clients read it, with the plan of EXPLAIN (H23). */
function queryDetails(plan: ValueObject): ValueObject {
  const scan = indexScanOf(plan);
  const access = scan === undefined ? { full_scan: {} } : { index_scan: scan };
  return { id: "query_details", fields: { ...access, plan } };
}

/** First index that the plan scans, with the path of its first bounded key. */
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
