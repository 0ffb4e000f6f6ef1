import { describe, expect, it } from 'vitest';
import { createLog } from '../../../src/telemetry/log.ts';
import { REDACTED, redactText } from '../../../src/telemetry/redact-fields.ts';

function recordingDestination() {
  const lines: string[] = [];
  return { lines, write: (line: string) => void lines.push(line) };
}

function listJsonLines(lines: string[]): Record<string, unknown>[] {
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('createLog', () => {
  it('writes one JSON object a line with level, time, message and fields', () => {
    const destination = recordingDestination();

    createLog('info', { format: 'json', destination }).warn('insert retried', { attempt: 2 });

    expect(listJsonLines(destination.lines)).toEqual([
      { level: 'warn', time: expect.stringMatching(/^\d{4}-/), attempt: 2, msg: 'insert retried' },
    ]);
  });

  it('leaves out lines below its level', () => {
    const destination = recordingDestination();
    const log = createLog('warn', { format: 'json', destination });

    log.info('quiet');
    log.error('loud');

    expect(listJsonLines(destination.lines).map((line) => line['msg'])).toEqual(['loud']);
  });

  it('hides secrets by the name of their key at any depth, in any spelling', () => {
    const destination = recordingDestination();

    createLog('info', { format: 'json', destination }).info('request', {
      password: 'hunter2',
      provider: { apiKey: 'k-1', 'X-Api-Key': 'k-2', inputTokens: 7 },
      list: [{ token: 'abc' }],
    });

    expect(destination.lines.join('')).not.toMatch(/hunter2|k-1|k-2|abc/);
    expect(listJsonLines(destination.lines)[0]?.['provider']).toEqual({
      apiKey: REDACTED,
      'X-Api-Key': REDACTED,
      inputTokens: 7,
    });
  });

  it('hides credentials inside texts and error messages', () => {
    const destination = recordingDestination();
    const error = new Error('cannot reach http://default:s3cret@store:8123/', {
      cause: new Error('Authorization: Bearer abcdef123456'),
    });

    createLog('info', { format: 'json', destination }).error('store unreachable', { error });

    expect(destination.lines.join('')).not.toMatch(/s3cret|abcdef123456/);
    expect(destination.lines.join('')).toContain('cannot reach http://');
  });

  it('carries the fields of a child on every line', () => {
    const destination = recordingDestination();

    createLog('info', { format: 'json', destination }).child({ role: 'scorer' }).info('ready', { port: 1 });

    expect(listJsonLines(destination.lines)[0]).toMatchObject({ role: 'scorer', port: 1 });
  });

  it('survives fields that hold themselves and integers beyond JSON', () => {
    const destination = recordingDestination();
    const cycle: Record<string, unknown> = { big: 12345678901234567890n };
    cycle['self'] = cycle;

    createLog('info', { format: 'json', destination }).info('odd', { cycle });

    expect(destination.lines.join('')).toContain('12345678901234567890');
    expect(destination.lines.join('')).toContain('[deep]');
  });

  it('shows a line for people with the causes of an error and without control characters', () => {
    const destination = recordingDestination();

    createLog('info', { destination }).error('stopped', {
      error: new Error('outer', { cause: new Error('inner') }),
      name: '\u001B[31mred',
    });

    expect(destination.lines[0]).toMatch(/^\d\d:\d\d:\d\d\.\d{3} ERROR stopped error="outer: inner" name=/);
    expect(destination.lines[0]).not.toContain('\u001B');
  });
});

describe('redactText', () => {
  it.each([
    ['postgres://u:p@h/x', `postgres://${REDACTED}@h/x`],
    [
      'failed: https://u:p@h/x?key=k&a=1 (HTTP 400)',
      `failed: https://${REDACTED}@h/x?${REDACTED} (HTTP 400)`,
    ],
    ['see https://h/x? or https://h/y#a', 'see https://h/x? or https://h/y#a'],
    ['Basic dXNlcjpwYXNz', `Basic ${REDACTED}`],
    ['key sk-abcdefghijklmnopqrstuv end', `key ${REDACTED} end`],
    ['key sk_a1b2c3d4e5f6g7h8 end', `key ${REDACTED} end`],
    ['an AWS key AKIAIOSFODNN7EXAMPLE', `an AWS key ${REDACTED}`],
    [`a Google key AIza${'b'.repeat(35)}`, `a Google key ${REDACTED}`],
    ['a GitLab token glpat-abcdefghijklmnopqrst', `a GitLab token ${REDACTED}`],
    [`a GitHub token github_pat_${'a'.repeat(22)}`, `a GitHub token ${REDACTED}`],
    [`a GitHub app token ghs_${'a1'.repeat(18)}`, `a GitHub app token ${REDACTED}`],
    [`a Hugging Face token hf_${'d'.repeat(34)}`, `a Hugging Face token ${REDACTED}`],
    [`an npm token npm_${'c'.repeat(36)}`, `an npm token ${REDACTED}`],
    ['a JWT eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl', `a JWT ${REDACTED}`],
    ['-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----', REDACTED],
    ['the words task_runner and risk-free', 'the words task_runner and risk-free'],
    ['http://127.0.0.1:8123/path', 'http://127.0.0.1:8123/path'],
  ])('turns %j into %j', (text, clean) => {
    expect(redactText(text)).toBe(clean);
  });
});
