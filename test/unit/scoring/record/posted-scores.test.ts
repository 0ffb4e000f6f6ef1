import { expect, it } from 'vitest';
import { joinPostedScore } from '../../../../src/scoring/record/record-runs.ts';
import { buildRunRecord } from '../../../support/store/run-rows.ts';
import { buildScore } from '../../../support/store/store-rows.ts';

const SESSION = { tenant: 'a', sessionId: 'chat' } as const;

const SCORE = buildScore({
  ...SESSION,
  traceId: '',
  spanId: '',
  target: 'session',
  targetId: 'chat',
  agent: '',
  scoredBy: 'ann',
  completeness: 'partial',
});

const TURNS = [
  buildRunRecord({ ...SESSION, startedAt: 2_000, agent: 'second', userId: 'eve', models: [] }),
  buildRunRecord({ ...SESSION, startedAt: 1_000, agent: 'first', models: ['old'] }),
  buildRunRecord({
    ...SESSION,
    startedAt: 3_000,
    agent: 'empty',
    userId: '',
    models: ['new'],
    notScorable: 'x',
  }),
];

it('a score of a session has the facts of its newest turn that can be scored', () => {
  expect(joinPostedScore(SCORE, TURNS)).toMatchObject({
    target: 'session',
    targetId: 'chat',
    traceId: '',
    spanId: '',
    agent: 'second',
    userId: 'eve',
    model: 'new',
    traceTimestamp: 1_000,
    completeness: 'complete',
  });
});

it('the record of the session itself counts more than its turns', () => {
  const record = buildRunRecord({ ...SESSION, traceId: '', spanId: '', target: 'session', targetId: 'chat' });
  expect(joinPostedScore(SCORE, [...TURNS, record])).toMatchObject({ agent: 'weather-agent', spanId: '' });
});

it('turns of another session or tenant, agents in a turn and deleted turns do not count', () => {
  const other = [{ sessionId: 'chat 2' }, { tenant: 'b' }, { target: 'agent' }, { isDeleted: true }] as const;
  const records = other.map((fields) => buildRunRecord({ ...SESSION, ...fields }));
  expect(joinPostedScore(SCORE, records)).toBeUndefined();
});
