import { describe, expect, it } from 'vitest';
import { replyReader, whyFields, type ReasonMode } from '../../../../../src/scorers/shared/judged.ts';

function readReason(mode: ReasonMode, reply: object): unknown {
  return replyReader((found) => whyFields(mode).read(found, 'reason'))(reply);
}

describe('reasons of a judge', () => {
  it.each(['judge', 'template'] as const)('is asked for, described and required with reason %s', (mode) => {
    const why = whyFields(mode);
    expect(why.ask('reason', 'remark')).toEqual({ reason: { type: 'string' }, remark: { type: 'string' } });
    expect(why.tell(' a few words')).toBe(' a few words');
    expect(readReason(mode, { reason: 'so' })).toEqual({ ok: true, value: 'so' });
    expect(readReason(mode, {})).toMatchObject({ ok: false });
  });

  it('is neither asked for nor described without a reason, and read if it is there', () => {
    const why = whyFields(false);
    expect(why.ask('reason')).toEqual({});
    expect(why.tell(' a few words')).toBe('');
    expect(readReason(false, {})).toEqual({ ok: true, value: '' });
    expect(readReason(false, { reason: 'so' })).toEqual({ ok: true, value: 'so' });
  });
});
