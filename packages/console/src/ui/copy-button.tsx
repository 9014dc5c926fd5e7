/**
 * A button that copies a text, and says so.
 */
import { copyText } from "../kit/copy.ts";
import { useEffect, useState, type VNode } from "../kit/preact.ts";
import { Button, IconButton } from "./button.tsx";
import { showToast } from "./toast.tsx";

const SAID_MS = 2000;

export interface CopyButtonProps {
  readonly text: string;
  /** What is copied, such as `the id`. */
  readonly what: string;
  /** Whether the button has a text. */
  readonly hasText?: boolean;
}

export function CopyButton({ text, what, hasText = false }: CopyButtonProps): VNode {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setCopied(false), SAID_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = (): void => {
    copyText(text).then(
      () => setCopied(true),
      () => showToast({ text: "failed to copy: the browser does not allow it", kind: "error" }),
    );
  };
  const icon = isCopied ? "check" : "copy";
  if (!hasText) {
    return <IconButton label={isCopied ? "Copied" : `Copy ${what}`} icon={icon} onClick={copy} />;
  }
  return (
    <Button icon={icon} onClick={copy}>
      {isCopied ? "Copied" : `Copy ${what}`}
    </Button>
  );
}
