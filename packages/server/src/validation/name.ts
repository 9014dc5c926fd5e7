/**
 * Names of apps, API keys, replications and servers: labels of RFC 1123, which are valid in a path
 * and in a host name (M10).
 */

const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

export const NAME_LENGTH_MAX = 63;

export function isName(name: string): boolean {
  return name.length <= NAME_LENGTH_MAX && NAME.test(name);
}
