// Reports packages of the lockfile without a checksum: npm would install them unchecked. npm writes none for optional packages of other
// machines that it finds installed nowhere; `npm install --package-lock-only` in an empty folder writes all.
import { readFileSync } from 'node:fs';

/** Packages whose checksums are still to be written on a machine whose registry has them. */
const AWAITED = ['@chdb/lib-darwin-arm64', '@chdb/lib-darwin-x64', '@chdb/lib-linux-arm64-gnu'];

const { packages } = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'));
const unchecked = Object.entries(packages)
  .filter(([path, { integrity, link }]) => path !== '' && link !== true && integrity === undefined)
  .map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length));
const missing = unchecked.filter((name) => !AWAITED.includes(name));
const written = AWAITED.filter((name) => !unchecked.includes(name));
const faults = [
  ...missing.map((name) => `package-lock.json: ${name} has no integrity: add its checksum`),
  ...written.map((name) => `.ci/check-lockfile.mjs: ${name} has a checksum: remove it from AWAITED`),
];
if (faults.length > 0) {
  throw new Error(faults.join('\n'));
}
