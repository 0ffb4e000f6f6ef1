import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TraceReading } from '../../../src/domain/trace/agent-run.ts';
import { tellNotProved } from '../../support/not-proved.ts';
import { ServeFolder } from '../../support/processes/serve-process.ts';
import { emitterFile, noJsPackages } from './js-packages.ts';
import { JS_PEERS } from './js-peers.ts';
import { startModelServer } from '../model-server.ts';
import { mapWide, runPeer, storedReadings, type PeerResult } from '../peer-run.ts';
import { THE_STORY, toldStories } from '../told-story.ts';

if (noJsPackages !== undefined) {
  tellNotProved('agents under real JavaScript instrumentations', noJsPackages);
}

/** Agents at a time: most of an agent's life is loading its packages. */
const WIDTH = 2;
const SETUP_TIMEOUT_MS = 900_000;

describe.skipIf(noJsPackages !== undefined)('an agent under a real JavaScript instrumentation', () => {
  let results: PeerResult[];
  let readings: Map<string, TraceReading[]>;
  let folder: ServeFolder;

  beforeAll(async () => {
    folder = new ServeFolder();
    const model = await startModelServer();
    try {
      const { otlpHttp } = await folder.start();
      const addresses = { modelUrl: model.url, otlpHttp };
      results = await mapWide(JS_PEERS, WIDTH, ({ name, script = name, variables = {} }) =>
        runPeer(name, process.execPath, [emitterFile(script)], addresses, { variables }),
      );
      readings = await storedReadings(folder);
    } finally {
      await model.close();
    }
  }, SETUP_TIMEOUT_MS);

  afterAll(() => folder.dispose());

  it.each(JS_PEERS)('$name tells the whole story, and once', ({ name, differs }) => {
    const result = results.find((one) => one.name === name);
    expect({ code: result?.code, output: result?.output }).toMatchObject({ code: 0 });
    const read = readings.get(name) ?? [];
    expect(toldStories(read)).toEqual([{ ...THE_STORY, ...differs }]);
    expect(read.flatMap(({ notUnderstood }) => notUnderstood.map((span) => span.name))).toEqual([]);
  });
});
