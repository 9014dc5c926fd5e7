/**
 * A failure: what went wrong in the words of the server, and the id under which its log has more.
 */
import type { ApiError } from "../api/request.ts";
import type { ComponentChildren, VNode } from "../kit/preact.ts";
import { Button } from "./button.tsx";
import { Icon } from "./icon.tsx";

export interface ErrorMessageProps {
  readonly error: ApiError | undefined;
  readonly onRetry?: () => void;
  readonly children?: ComponentChildren;
}

/** Nothing without an error. */
export function ErrorMessage({ error, onRetry, children }: ErrorMessageProps): VNode | null {
  if (error === undefined) return null;
  return (
    <div class="error-message" role="alert">
      <Icon name="warning" />
      <div class="error-text">
        <p>{error.message}</p>
        {error.status === 500 && error.requestId !== undefined ? (
          <p class="muted">
            Request <code>{error.requestId}</code>
          </p>
        ) : null}
        {children}
      </div>
      {onRetry === undefined ? null : <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}
