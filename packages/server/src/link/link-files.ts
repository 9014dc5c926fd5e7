/**
 * Link files: sends and receives the attachments of an app over one of its links (S55).
 *
 * It sends a content only if a document refers to it in a collection that the other side follows
 * (S89). Whether the document matches now does not matter: one that matched before was sent with
 * its token. A side with the secret may follow everything, but a link never sends unreferenced
 * content.
 */

import type { ContentPiece, LinkAttachments } from "@bigpeer/engine/link";
import type { Store } from "@bigpeer/engine/store";
import { isReferredFrom } from "@bigpeer/engine/store";
import type { AttachmentFolder } from "../attachments/attachment-folder.ts";
import type { AppContents, ContentLink } from "./app-contents.ts";

/** A link as its files see it. */
export interface FilesLink extends ContentLink {
  /** The history of the other side. */
  readonly partner: string | undefined;
  readonly servedCollections: ReadonlySet<string>;
}

export interface LinkFilesOptions {
  readonly store: Store;
  readonly attachments: Pick<AttachmentFolder, "has" | "read" | "receive" | "receivedSize">;
  readonly contents: AppContents;
  readonly link: FilesLink;
}

export class LinkFiles implements LinkAttachments {
  readonly #options: LinkFilesOptions;

  constructor(options: LinkFilesOptions) {
    this.#options = options;
  }

  get isEager(): boolean {
    return this.#options.link.isEager;
  }

  /** A content that another link fetches at this moment need not come twice. */
  has(id: string): boolean {
    const { attachments, contents, link } = this.#options;
    return attachments.has(id) || contents.isComing(id, link);
  }

  start(id: string): number {
    return this.#options.attachments.receivedSize(id);
  }

  async open(id: string, offset: number, bytesMax: number): Promise<ContentPiece | undefined> {
    const { store, attachments, contents, link } = this.#options;
    const collections = link.servedCollections;
    if (!store.read((view) => isReferredFrom(view, id, collections))) return undefined;
    if (!attachments.has(id)) await contents.relay(id, link);
    return attachments.read(id, offset, bytesMax);
  }

  keep(id: string, piece: ContentPiece): Promise<"more" | "kept" | "refused"> {
    const { attachments, link } = this.#options;
    return attachments.receive(id, piece, `link:${link.partner ?? ""}`);
  }
}
