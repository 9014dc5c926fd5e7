/**
 * `POST /store/count`: counts the documents that match a filter (H19).
 */

import { type Operation, whileWanted } from "./operation.ts";
import { type CountRequest, checkCountRequest } from "./schemas.ts";

export const COUNT: Operation<CountRequest> = {
  name: "count",
  path: "/store/count",
  check: checkCountRequest,
  unreachedStatus: 400,
  run: async ({ collection, query, args }, call) => {
    const { app, request, credential } = call;
    const { count, transactionId } = await whileWanted(
      call,
      app.statements.count({
        collection,
        query,
        args,
        isUnknownRefused: !app.settings.isUnknownEmpty,
        requestId: request.id,
        owner: credential.id,
        authority: credential.authority,
      }),
    );
    return { body: { count, txnId: transactionId } };
  },
};
