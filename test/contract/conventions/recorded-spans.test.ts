import { describe, expect, it } from 'vitest';
import { decodeTraces, readTrace, readTraces } from '../../../src/conventions/index.ts';
import {
  differences,
  type ExpectedFacts,
  type ExpectedRuns,
  runDifferences,
} from '../../support/recordings/facts.ts';
import { RECORDED_PEERS } from '../../peers/recordings/recorded-peers.ts';
import { listExpectations, listVersions, recordedSpans } from '../../support/recordings/recorded-spans.ts';

const FACTS = (['spans', 'spans-thirdparty'] as const).flatMap((folder) =>
  listExpectations<ExpectedFacts>(folder).map(([name, expected]) => [folder, name, expected] as const),
);

describe('recordings of real instrumentations', () => {
  it.each(FACTS)('%s/%s yields every fact it holds, and no other', (folder, name, expected) => {
    const recording = recordedSpans(folder, name);
    expect(differences(readTraces(recording), expected, recording)).toEqual([]);
  });

  it('are in `spans-thirdparty` what its command records, each with its versions', () => {
    const recorded = RECORDED_PEERS.map(({ name }) => name).toSorted();
    expect(listExpectations<ExpectedFacts>('spans-thirdparty').map(([name]) => name)).toEqual(recorded);
    expect(listVersions().map(([name]) => name)).toEqual(recorded);
  });

  it.each(listExpectations<ExpectedRuns>('spans-multi'))(
    '%s yields its runs and sub-runs',
    (name, expected) => {
      expect(runDifferences(readTraces(recordedSpans('spans-multi', name)), expected)).toEqual([]);
    },
  );
});

describe.each(['spans', 'spans-multi', 'spans-thirdparty'] as const)('every recording in %s', (folder) => {
  const names = listExpectations<unknown>(folder).map(([name]) => name);

  it.each(names)('%s decodes without a problem', (name) => {
    expect(decodeTraces(recordedSpans(folder, name)).problems).toEqual([]);
  });

  it.each(names)('%s reads the same backwards and doubled', (name) => {
    const { traces } = decodeTraces(recordedSpans(folder, name));
    for (const trace of traces) {
      const reading = readTrace(trace);
      const reversed = { ...trace, spans: trace.spans.toReversed() };
      expect(readTrace(reversed)).toEqual(reading);
      const doubled = {
        ...trace,
        spans: [...trace.spans, ...trace.spans],
        logs: [...trace.logs, ...trace.logs],
      };
      expect(readTrace(doubled)).toEqual(reading);
    }
  });

  it.each(names)('%s gives JSON that reads back equal, with ids that are unique', (name) => {
    const readings = readTraces(recordedSpans(folder, name));
    expect(readTraces(recordedSpans(folder, name))).toEqual(readings);
    const runs = readings.flatMap((reading) => reading.runs);
    const ids = runs.flatMap((run) =>
      [...run.input.inputMessages, ...run.input.rememberedMessages, ...run.output].map(
        (message) => message.id,
      ),
    );
    expect(new Set(ids).size).toBe(ids.length);
    expect(JSON.parse(JSON.stringify(readings))).toHaveLength(readings.length);
  });
});
