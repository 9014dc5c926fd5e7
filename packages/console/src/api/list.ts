/**
 * Lists of the management API.
 */
import { request } from "./request.ts";

export interface List<T> {
  readonly data: readonly T[];
  readonly meta: { readonly page: number; readonly size: number; readonly totalPages: number };
}

/** All entries of a list. */
export async function listOf<T>(path: string, signal?: AbortSignal): Promise<readonly T[]> {
  return (await request<List<T>>(path, signal === undefined ? {} : { signal })).data;
}
