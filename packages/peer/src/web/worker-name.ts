/**
 * Worker name: the name of a SharedWorker, in which it finds its own address. Behind a service worker
 * its `location` is that of the answer, without what comes after the `#`.
 */

/**
 * Workers of one database and one address are the same worker, for all pages of an origin.
 * `address`: of its script, and after the `#` that of the engine, if the script is the loader.
 */
export function workerName(database: string, address: string): string {
  return `${database} ${address}`;
}

/** The address in a name. An address has no spaces. */
export function addressIn(name: string): string {
  return name.slice(name.lastIndexOf(" ") + 1);
}
