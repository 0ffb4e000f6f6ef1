import { describe, expect, test } from 'vitest';
import { readJsonReply } from '../../../../src/judge/reply/reply-json.ts';
import type { SchemaVerdict } from '../../../../src/judge/reply/judge-schema.ts';

function withVerdict(value: unknown): SchemaVerdict<unknown> {
  return typeof value === 'object' && value !== null && 'verdict' in value
    ? { ok: true, value }
    : { ok: false, fault: 'no verdict' };
}

describe('an answer is read', () => {
  test.each([
    ['as it is', '{"verdict":"yes"}'],
    ['from a code fence', '```json\n{"verdict":"yes"}\n```'],
    ['from prose', 'Here you are: {"verdict":"yes"}. Anything else?'],
    ['when prose holds brackets too', 'I looked at [1] and {2}. {"verdict":"yes"}'],
    ['when it stands there twice', '{"verdict":"yes"}\n{"verdict":"yes"}'],
    ['after thoughts with drafts in them', '<think>{"verdict":"no"}</think>{"verdict":"yes"}'],
    ['when another JSON value that does not fit stands before', '{"note":1} {"verdict":"yes"}'],
  ])('%s', (_how, reply) => {
    expect(readJsonReply(reply, withVerdict)).toEqual({ ok: true, value: { verdict: 'yes' } });
  });

  test('with brackets and quotes in its strings', () => {
    const value = { verdict: 'a } "quoted" ] {' };

    expect(readJsonReply(`so: ${JSON.stringify(value)} done`, withVerdict)).toEqual({ ok: true, value });
  });
});

describe('no answer is read', () => {
  test.each([
    ['from nothing', '  ', 'it is empty'],
    ['from thoughts alone', '<think>{"verdict":"yes"}</think>', 'it is empty'],
    ['from an unfinished value', '{"verdict":"yes"', 'it holds no complete JSON value'],
    [
      'from values that differ',
      '{"verdict":"yes"} {"verdict":"no"}',
      'it holds several different JSON values',
    ],
    ['from a value of another shape', '[1,2]', 'no verdict'],
  ])('%s', (_how, reply, fault) => {
    expect(readJsonReply(reply, withVerdict)).toEqual({ ok: false, fault });
  });

  test('from a long row of open brackets, in little time', () => {
    expect(readJsonReply('['.repeat(1_000_000), withVerdict).ok).toBe(false);
  });
});
