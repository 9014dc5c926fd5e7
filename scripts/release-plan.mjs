/**
 * Release plan: what a release of all packages needs, and the order in which they are published.
 *
 * Functions of data only; release.mjs reads the files and runs npm and git.
 */

/** The entry of a version in the changelog: `{ text, isDated }`; undefined when there is none. */
export function entryOf(changelog, version) {
  const start = changelog.search(new RegExp(`^## ${version.replaceAll(".", "\\.")}(?=\\s)`, "m"));
  if (start < 0) return undefined;
  const next = changelog.indexOf("\n## ", start);
  const text = changelog.slice(start, next < 0 ? undefined : next).trimEnd();
  return { text, isDated: /^## \S+ \(\d{4}-\d\d-\d\d\)$/m.test(text.split("\n", 1)[0]) };
}

/** Why these packages cannot be released now; empty when they can. */
export function faultsOf({ version, manifests, entry, tags, changes }) {
  const names = new Set(manifests.map(({ name }) => name));
  const faults = manifests.flatMap((manifest) => [
    // npm compares it with the repository of the workflow, and signs nothing without it.
    ...(manifest.repository === undefined
      ? [`no repository in the manifest of ${manifest.name}`]
      : []),
    ...(manifest.version === version
      ? []
      : [`expected version ${version} of ${manifest.name}, found ${manifest.version}`]),
    ...ownDependencies(manifest)
      .filter(([name, wanted]) => !names.has(name) || wanted !== version)
      .map(([name, wanted]) => `expected ${name} ${version} in ${manifest.name}, found ${wanted}`),
  ]);
  if (entry === undefined) faults.push(`no entry for ${version} in CHANGELOG.md`);
  else if (!entry.isDated) faults.push(`the entry for ${version} in CHANGELOG.md has no date`);
  if (!tags.includes(`v${version}`)) faults.push(`the commit has no tag v${version}`);
  if (changes !== "") faults.push("the checkout has changes that are not committed");
  return faults;
}

/** Each package after those that it depends on, so that none can be installed before them. */
export function publishOrder(manifests) {
  const placed = [];
  const place = (manifest) => {
    if (manifest === undefined || placed.includes(manifest)) return;
    for (const [name] of ownDependencies(manifest)) {
      place(manifests.find((each) => each.name === name));
    }
    placed.push(manifest);
  };
  for (const manifest of manifests) place(manifest);
  return placed;
}

/** Name and version of the dependencies that are packages of ours. */
function ownDependencies({ dependencies = {}, peerDependencies = {} }) {
  const all = Object.entries({ ...dependencies, ...peerDependencies });
  return all.filter(([name]) => name.startsWith("@bigpeer/"));
}
