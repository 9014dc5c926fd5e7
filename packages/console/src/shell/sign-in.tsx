/**
 * The form to sign in: with a console token, or with the admin token of the server.
 */
import { ApiError } from "../api/request.ts";
import { signIn } from "../api/session.ts";
import { useEffect, useState, type VNode } from "../kit/preact.ts";
import { Button } from "../ui/button.tsx";
import { ErrorMessage } from "../ui/error-message.tsx";
import { TextField } from "../ui/field.tsx";

/** `failure` is that of the token in the address. */
export function SignIn({ failure }: { readonly failure: ApiError | undefined }): VNode {
  const [token, setToken] = useState("");
  const [error, setError] = useState(failure);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    document.title = "Sign in · Big Peer";
  }, []);
  const submit = async (): Promise<void> => {
    setBusy(true);
    try {
      await signIn(tokenIn(token));
    } catch (fault) {
      setError(ApiError.from(fault));
    }
    setBusy(false);
  };
  return (
    <main class="sign-in">
      <img src="/favicon.svg" alt="" width="40" height="40" />
      <h1>Sign in to Big Peer</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <TextField
          label="Token"
          type="password"
          value={token}
          onInput={setToken}
          autofocus
          isRequired
          hint={
            <>
              The server prints a link at its start. Elsewhere, <code>consoleUrl</code> in{" "}
              <code>quickstart.json</code> has it. The admin token works, too.
            </>
          }
        />
        <ErrorMessage error={error} />
        <Button isSubmit kind="primary" isDisabled={isBusy || token === ""}>
          Sign in
        </Button>
      </form>
    </main>
  );
}

/** A pasted link is as good as the token in it. */
function tokenIn(text: string): string {
  return text.trim().replace(/^.*#token=/, "");
}
