/** Process that owns an embedded engine, for tests that kill it. Prints the engine's address and waits. */
import { startEmbeddedEngine } from '../../../src/store/embedded/engine.ts';

const [dataDir] = process.argv.slice(2);
if (dataDir === undefined) {
  throw new Error('usage: engine-owner.ts <data directory>');
}
const engine = await startEmbeddedEngine({ dataDir, patienceMs: 60_000 });
const { url, username, password, pid } = engine;
engine.mark('serving');
console.log(JSON.stringify({ url, username, password, pid }));
process.on('SIGTERM', () => {
  void engine.stop().then(() => process.exit(0));
});
