/**
 * `POST /store/findbyid`: reads one document by id; `fields` is null if there is none (H24).
 */

import { attachmentLinks } from "./attachment-link.ts";
import { documentFields } from "./document-fields.ts";
import type { Operation } from "./operation.ts";
import { checkFindByIdRequest, type FindByIdRequest } from "./schemas.ts";

export const FIND_BY_ID: Operation<FindByIdRequest> = {
  name: "findbyid",
  path: "/store/findbyid",
  check: checkFindByIdRequest,
  unreachedStatus: 400,
  run: (asked, call, { publicUrl }) => {
    const { collection, id } = asked;
    const { statements, settings } = call.app;
    const isUnknownRefused = !settings.isUnknownEmpty;
    const { authority } = call.credential;
    const found = statements.findById({ collection, id, isUnknownRefused, authority });
    const { document, transactionId: txnId } = found;
    if (document === undefined) return { body: { id: found.id, fields: null, txnId } };
    const fields = documentFields(document, asked, attachmentLinks(call, publicUrl));
    return { body: { id: document.id, fields, txnId } };
  },
};
