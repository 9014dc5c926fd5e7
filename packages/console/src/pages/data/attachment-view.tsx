/**
 * An attachment of a document: its name and size, a preview of images and texts, and its download.
 */
import { ApiError, requestRaw } from "../../api/request.ts";
import { ofApp } from "../../api/session.ts";
import { useEffect, useState, type VNode } from "../../kit/preact.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorMessage } from "../../ui/error-message.tsx";
import { type AttachmentToken, isAttachment, sizeText } from "../../values/show-value.ts";

const IMAGE = /\.(png|jpe?g|gif|webp|avif|svg)$/i;
const TEXT = /\.(txt|md|json|csv|log|xml|yaml|yml)$/i;
/** The beginning of a text that is shown. */
const TEXT_BYTES_MAX = 4000;
/** A larger image would fill the memory of the browser. */
const IMAGE_BYTES_MAX = 20_000_000;
const IMAGE_TYPES: Readonly<Record<string, string>> = { jpg: "jpeg", svg: "svg+xml" };

export interface AttachmentViewProps {
  readonly app: string;
  readonly token: unknown;
}

export function AttachmentView({ app, token }: AttachmentViewProps): VNode {
  if (!isAttachment(token)) return <span class="grow muted">no content</span>;
  return <KnownAttachment app={app} token={token} />;
}

interface KnownAttachmentProps {
  readonly app: string;
  readonly token: AttachmentToken;
}

type Preview = { readonly image: string } | { readonly text: string };

function KnownAttachment({ app, token }: KnownAttachmentProps): VNode {
  const [preview, setPreview] = useState<Preview>();
  const [error, setError] = useState<ApiError>();
  const path = ofApp(app, `/attachments/${encodeURIComponent(token.id)}`);
  const name = token.metadata?.["name"] ?? "attachment";
  useEffect(() => {
    const url = preview !== undefined && "image" in preview ? preview.image : undefined;
    return () => {
      if (url !== undefined) URL.revokeObjectURL(url);
    };
  }, [preview]);
  const show = async (): Promise<void> => {
    try {
      setPreview(await previewOf(path, name, token.len));
    } catch (fault) {
      setError(ApiError.from(fault));
    }
  };
  const isLarge = IMAGE.test(name) && token.len > IMAGE_BYTES_MAX;
  const hasPreview = (IMAGE.test(name) && !isLarge) || TEXT.test(name);
  return (
    <span class="grow attachment-view">
      <span class="attachment-name">
        {name} <span class="muted">{sizeText(token.len)}</span>
      </span>
      <span class="toolbar">
        {hasPreview && preview === undefined ? (
          <Button onClick={() => void show()}>Preview</Button>
        ) : null}
        {isLarge ? <span class="muted">too large for a preview</span> : null}
        <a href={path} download={name}>
          Download
        </a>
      </span>
      {preview === undefined ? null : "image" in preview ? (
        <img class="attachment-image" src={preview.image} alt={`Preview of ${name}`} />
      ) : (
        <pre class="attachment-text" tabIndex={0}>
          {preview.text}
        </pre>
      )}
      <ErrorMessage error={error} />
    </span>
  );
}

async function previewOf(path: string, name: string, length: number): Promise<Preview> {
  if (TEXT.test(name)) return { text: await beginningOf(path, length) };
  const response = await requestRaw(path);
  const ending = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  const type = `image/${IMAGE_TYPES[ending] ?? ending}`;
  const blob = new Blob([await response.arrayBuffer()], { type });
  return { image: URL.createObjectURL(blob) };
}

/** The rest of the content is not loaded. */
async function beginningOf(path: string, length: number): Promise<string> {
  const isLong = length > TEXT_BYTES_MAX;
  const headers = { ...(isLong && { range: `bytes=0-${TEXT_BYTES_MAX - 1}` }) };
  const bytes = await (await requestRaw(path, { headers })).arrayBuffer();
  // A character at the end may be cut.
  return new TextDecoder().decode(bytes, { stream: true });
}
