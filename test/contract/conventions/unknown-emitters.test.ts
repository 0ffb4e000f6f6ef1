import { describe, expect, it } from 'vitest';
import { readTrace } from '../../../src/conventions/index.ts';
import type { AgentRun } from '../../../src/domain/trace/agent-run.ts';
import type { TraceData } from '../../../src/domain/trace/span.ts';
import { textOfMessage } from '../../support/recordings/facts.ts';
import {
  compareDisguised,
  type Disguise,
  listRecordedTraces,
  underOtherNames,
  withoutOwnConventions,
} from '../../support/recordings/renamed.ts';

const recordings = listRecordedTraces();

/** All values of a trace, with the characters of JSON that stand for themselves. */
function listSent({ spans, logs }: TraceData): string {
  const holders = [...spans, ...spans.flatMap(({ events }) => [...events]), ...logs];
  const values = holders.flatMap(({ attributes }) => [...attributes.values()]);
  return [...values, ...logs.map(({ body }) => body), ...spans.map(({ name }) => name)].join('\n');
}

function listTexts(run: AgentRun): string[] {
  const { inputMessages, rememberedMessages, systemMessages } = run.input;
  return [
    ...[...inputMessages, ...rememberedMessages, ...run.output].map(textOfMessage),
    ...systemMessages.map(({ content }) => JSON.stringify(content)),
    ...run.documents.map(({ content }) => content),
    ...run.subRuns.flatMap(listTexts),
  ];
}

const DISGUISES: readonly (readonly [name: string, disguise: Disguise])[] = [
  ['under the names of an invented vendor', underOtherNames],
  ['with its own conventions off', withoutOwnConventions],
];

describe.each(DISGUISES)('a recorded emitter %s', (_name, disguise) => {
  it('is read as under its own in most runs', () => {
    const { runs, answered, withTools } = compareDisguised(recordings, disguise);
    expect(runs).toBeGreaterThan(150);
    expect(answered / runs).toBeGreaterThanOrEqual(0.85);
    expect(withTools / runs).toBeGreaterThanOrEqual(0.75);
  });

  it('gives no word that is not in its spans', () => {
    const invented = recordings.flatMap(disguise).flatMap((trace) => {
      const sent = listSent(trace);
      const words =
        readTrace(trace)
          .runs.flatMap(listTexts)
          .join(' ')
          .match(/[A-Za-z]{3,}|\d{2,}/g) ?? [];
      return words.filter((word) => !sent.includes(word));
    });
    expect(invented).toEqual([]);
  });
});
