/**
 * Pagination of lists: `?page=&size=`, from page 1. Without either, a list is one page (M11).
 */

import { PeerError, type Value } from "@bigpeer/protocol";

export interface PageRequest {
  /** From 1. */
  readonly page: number;
  readonly size: number;
}

/** Page size when only the page number is given. */
export const PAGE_SIZE = 100;

export const PAGE_SIZE_MAX = 1_000;

/** Enough for all lists, and its product with a page size is still exact. */
const PAGE_MAX = 1_000_000;

/** Undefined when all entries are requested. Throws PeerError `value.invalid`. */
export function readPageRequest(query: string): PageRequest | undefined {
  const parameters = new URLSearchParams(query);
  const page = readNumber(parameters, "page", PAGE_MAX);
  const size = readNumber(parameters, "size", PAGE_SIZE_MAX);
  if (page === undefined && size === undefined) return undefined;
  return { page: page ?? 1, size: size ?? PAGE_SIZE };
}

/** Body of a list: the entries of the page that `query` requests. */
export function pageBody<T>(all: readonly T[], query: string, show: (one: T) => Value): Value {
  const request = readPageRequest(query);
  if (request === undefined) {
    return { data: all.map(show), meta: { page: 1, size: all.length, totalPages: 1 } };
  }
  const start = (request.page - 1) * request.size;
  const shown = all.slice(start, start + request.size).map(show);
  return { data: shown, meta: pageMeta(request, all.length) };
}

export function pageMeta({ page, size }: PageRequest, total: number): Value {
  return { page, size, totalPages: Math.max(1, Math.ceil(total / size)) };
}

function readNumber(parameters: URLSearchParams, name: string, max: number): number | undefined {
  const [text, ...others] = parameters.getAll(name);
  if (text === undefined) return undefined;
  const at = `the parameter ${name}`;
  if (others.length > 0) throw new PeerError("value.invalid", "expected it once", { at });
  const number = /^\d{1,7}$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= max) return number;
  const message = `expected a number from 1 to ${max}, found "${text.slice(0, 40)}"`;
  throw new PeerError("value.invalid", message, { at });
}
