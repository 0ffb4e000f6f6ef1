import { describe, expect, it } from 'vitest';
import { traceJson } from '../../../../src/api/resources/traces.ts';
import { showTraces } from '../../../../src/cli/commands/traces.ts';
import { showTarget } from '../../../../src/cli/show/show-target.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';

describe('showTarget', () => {
  it('tells the runs of one trace and its agents apart', () => {
    const ids = [TRACE, `${TRACE}/1`, `${TRACE}/b7ad6b7169203331`];

    expect(ids.map((targetId) => showTarget({ tenant: '', traceId: TRACE, targetId }))).toEqual(ids);
  });

  it('names the trace of a target that does not', () => {
    expect(showTarget({ tenant: '', traceId: TRACE, targetId: 'session-7' })).toBe(TRACE);
    expect(showTarget({ tenant: '', traceId: TRACE })).toBe(TRACE);
  });

  it('names the tenant, and never lets it break the line', () => {
    expect(showTarget({ tenant: 'acme', traceId: TRACE })).toBe(`acme ${TRACE}`);
    const shown = showTarget({ tenant: 'a\nb\u001b[31m', traceId: TRACE });
    expect(shown).not.toContain('\n');
    expect(shown).not.toContain('\u001b');
  });
});

describe('showTraces', () => {
  const row = (tenant: string) => {
    const trace = traceJson({
      tenant,
      traceId: TRACE,
      startedAtMs: 0,
      run: null,
      decisions: { scored: 2 },
      scores: [],
      finding: null,
      notScored: [],
    });
    return { ...trace, lastArrival: '2026-11-22T10:15:04.123Z', services: ['shop'], spanCount: 3 };
  };

  it('has a column for tenants only where there are any', () => {
    expect(showTraces([row('')])).not.toContain('TENANT');
    const lines = showTraces([row('a'), row('b')]).split('\n');
    expect(lines[0]).toContain('TENANT');
    expect(lines[1]).toContain(` a       ${TRACE}`);
    expect(lines[2]).toContain(` b       ${TRACE}`);
  });
});
