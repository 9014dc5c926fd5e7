/**
 * The root of the console: the form to sign in without a session, and the pages with one. When it
 * ends, a dialog before the pages asks to sign in again.
 */
import { type ApiError, isSessionLost } from "../api/request.ts";
import { session } from "../api/session.ts";
import type { VNode } from "../kit/preact.ts";
import { ErrorMessage } from "../ui/error-message.tsx";
import { Layout } from "./layout.tsx";
import { SignIn, SignInAgain } from "./sign-in.tsx";

/** `failure` is that of the first request. */
export function ConsoleRoot({ failure }: { readonly failure: ApiError | undefined }): VNode {
  const current = session.value;
  if (current !== null && current !== undefined) {
    return (
      <>
        <Layout />
        {isSessionLost.value ? <SignInAgain /> : null}
      </>
    );
  }
  const isRefused = failure === undefined || failure.status === 401;
  if (current === null || isRefused) return <SignIn failure={failure} />;
  return (
    <main class="sign-in">
      <h1>Big Peer</h1>
      <ErrorMessage error={failure} onRetry={() => location.reload()} />
    </main>
  );
}
