/** The name of the Web Lock that a worker holds for as long as it lives. */
export function workerLock(instance: string): string {
  return `bigpeer-worker:${instance}`;
}
