// Every version of Node.js with modules must parse this file: no syntax newer than 2020, no imports.

/** Oldest version that runs spanscore, as in `engines` of package.json. */
const OLDEST_NODE = [22, 18] as const;

/** Returns the fault of a Node.js version with the next step; undefined for a version that runs spanscore. */
export function refuseNode(version: string): string | undefined {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  const isFine = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
  return isFine
    ? undefined
    : `spanscore needs Node.js ${OLDEST_NODE.join('.')} or later, and this is ${version}: install a newer one from https://nodejs.org`;
}
