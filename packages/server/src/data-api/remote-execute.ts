/**
 * `POST /sync/remote_execute`: runs a statement on connected peers. No peer can connect yet, so the
 * statement is checked and nobody runs it.
 */

import { unauthorized } from "../auth/unauthorized.ts";
import type { Operation } from "./operation.ts";
import { checkRemoteExecuteRequest, type QueryRequest } from "./schemas.ts";

export const REMOTE_EXECUTE: Operation<QueryRequest> = {
  name: "remote_execute",
  path: "/sync/remote_execute",
  check: checkRemoteExecuteRequest,
  unreachedStatus: undefined,
  run: ({ statement, args }, { app, credential }) => {
    if (!credential.mayAskPeers) {
      throw unauthorized("the credential lacks the permission for this operation");
    }
    app.statements.checkRemote({ statement, args, authority: credential.authority });
    return { body: { result: [] } };
  },
};
