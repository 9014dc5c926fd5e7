/**
 * useAttachment: the content of an attachment, with an address for an image or a link.
 */

import type { AttachmentToken, FetchedAttachment } from "../attachments/attachments.ts";
import { useProvided, useShared } from "./peer-context.ts";
import { useMemo } from "./react.ts";
import type { Start } from "./shared-values.ts";
import { valueKey } from "./value-key.ts";

/** The options of {@link useAttachment}. */
export interface UseAttachmentOptions {
  /**
   * The media type of `blob` and `url`. The default is `application/octet-stream`, which images and
   * videos are shown with, too. Do not take it from a document unchecked: a page of another user that
   * is opened as `text/html` runs with the rights of your app.
   */
  readonly type?: string;
}

/** The content of an attachment, and how far its download is. */
export interface AttachmentState {
  /** Its address, for `src` and `href`; undefined until all of it is on the device. */
  readonly url: string | undefined;
  /** Its bytes, which the browser need not hold in memory; undefined as long as `url` is. */
  readonly blob: Blob | undefined;
  /** Bytes on the device. */
  readonly received: number;
  /** Bytes of the whole content. */
  readonly total: number;
  /** Why it cannot be had. */
  readonly error: Error | undefined;
  /** Whether it is still to come. Without a connection it waits. */
  readonly isLoading: boolean;
}

type Token = Pick<AttachmentToken, "id" | "len"> & Partial<AttachmentToken>;

const ABSENT: AttachmentState = {
  url: undefined,
  blob: undefined,
  received: 0,
  total: 0,
  error: undefined,
  isLoading: false,
};

/**
 * Gets the content of an attachment, and renders the component again with its progress and its
 * address. Components with the same token and type share it; the address ends with the last of them.
 *
 * @param token - The value of an ATTACHMENT field; null or undefined for none at the moment.
 * @param options - The media type.
 */
export function useAttachment(
  token: Token | null | undefined,
  options: UseAttachmentOptions = {},
): AttachmentState {
  const { error } = useProvided();
  const { type = "application/octet-stream" } = options;
  const { id, len = 0 } = token ?? {};
  const key = token ? `attachment ${valueKey([id, len, type])}` : undefined;
  const initial = useMemo(
    () => (token ? { ...ABSENT, total: len, isLoading: true } : ABSENT),
    [key],
  );
  const state = useShared(key, fetching(token as Token, type), initial);
  return error === undefined || !token ? state : { ...ABSENT, total: len, error };
}

function fetching(token: Token, type: string): Start<AttachmentState> {
  return ({ attachments }, set) => {
    const total = token.len;
    const abort = new AbortController();
    const { signal } = abort;
    let url: string | undefined;
    const show = async (): Promise<void> => {
      const content = await attachments.fetch(token, {
        signal,
        onProgress: ({ received }) => {
          if (url === undefined) set({ ...ABSENT, received, total, isLoading: true });
        },
      });
      const blob = await blobOf(content, type);
      if (signal.aborted) return;
      url = URL.createObjectURL(blob);
      set({ ...ABSENT, url, blob, received: total, total });
    };
    show().catch((error: unknown) => {
      if (!signal.aborted) set({ ...ABSENT, total, error: error as Error });
    });
    return () => {
      abort.abort();
      if (url !== undefined) URL.revokeObjectURL(url);
    };
  };
}

/** Piece by piece, so that a large content is never in memory as a whole. */
async function blobOf(content: FetchedAttachment, type: string): Promise<Blob> {
  return new Response(content.stream(), { headers: { "content-type": type } }).blob();
}
