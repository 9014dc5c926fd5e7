/**
 * The form to sign in: with a console token, or with the admin token of the server.
 */
import { ApiError, isSessionLost } from "../api/request.ts";
import { signIn } from "../api/session.ts";
import { useEffect, useState, type VNode } from "../kit/preact.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorMessage } from "../ui/error-message.tsx";
import { TextField } from "../ui/field.tsx";

/** `failure` is that of the token in the address. */
export function SignIn({ failure }: { readonly failure: ApiError | undefined }): VNode {
  const form = useSignIn(failure);
  useEffect(() => {
    document.title = "Sign in · Big Peer";
  }, []);
  return (
    <main class="sign-in">
      <img src="/favicon.svg" alt="" width="40" height="40" />
      <h1>{TITLE}</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void form.submit();
        }}
      >
        <TokenField form={form} />
        <SubmitButton form={form} />
      </form>
    </main>
  );
}

/** Before the pages, when the session has ended in the middle of work. */
export function SignInAgain(): VNode {
  const form = useSignIn(undefined);
  return (
    <Dialog
      title={TITLE}
      size="small"
      // The next request asks again.
      onClose={() => {
        isSessionLost.value = false;
      }}
      onSubmit={() => void form.submit()}
      footer={<SubmitButton form={form} />}
    >
      <p>The session has ended. What you have typed is still there.</p>
      <TokenField form={form} />
    </Dialog>
  );
}

const TITLE = "Sign in to Big Peer";

interface SignInForm {
  readonly token: string;
  readonly setToken: (token: string) => void;
  readonly error: ApiError | undefined;
  readonly isBusy: boolean;
  readonly submit: () => Promise<void>;
}

function useSignIn(failure: ApiError | undefined): SignInForm {
  const [token, setToken] = useState("");
  const [error, setError] = useState(failure);
  const [isBusy, setBusy] = useState(false);
  const submit = async (): Promise<void> => {
    setBusy(true);
    try {
      await signIn(tokenIn(token));
    } catch (fault) {
      setError(ApiError.from(fault));
    }
    setBusy(false);
  };
  return { token, setToken, error, isBusy, submit };
}

function TokenField({ form }: { readonly form: SignInForm }): VNode {
  return (
    <>
      <TextField
        label="Token"
        type="password"
        value={form.token}
        onInput={form.setToken}
        autofocus
        isRequired
        hint={
          <>
            The server prints a link at its start. Elsewhere, <code>consoleUrl</code> in{" "}
            <code>quickstart.json</code> has it. The admin token works, too.
          </>
        }
      />
      <ErrorMessage error={form.error} />
    </>
  );
}

function SubmitButton({ form }: { readonly form: SignInForm }): VNode {
  return (
    <Button isSubmit kind="primary" isDisabled={form.isBusy || form.token === ""}>
      Sign in
    </Button>
  );
}

/** A pasted link is as good as the token in it. */
function tokenIn(text: string): string {
  return text.trim().replace(/^.*#token=/, "");
}
