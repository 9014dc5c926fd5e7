/**
 * Attachment token: what a document holds of an attachment.
 */

export type AttachmentMetadata = { [key: string]: string };

export type AttachmentToken = {
  id: string;
  len: number | bigint;
  metadata: AttachmentMetadata;
};
