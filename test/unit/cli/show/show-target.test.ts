import { describe, expect, it } from 'vitest';
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
  const row = (tenant: string) => ({
    tenant,
    traceId: TRACE,
    services: ['shop'],
    spanCount: 3,
    firstArrivalMs: 0,
    lastArrivalMs: 0,
    rootSeen: true,
    agentSeen: true,
    errorSeen: false,
    decisions: { scored: 2 },
    run: null,
    startedAtMs: 0,
    scores: [],
    finding: null,
    notScored: [],
  });

  it('has a column for tenants only where there are any', () => {
    expect(showTraces([row('')])).not.toContain('TENANT');
    const lines = showTraces([row('a'), row('b')]).split('\n');
    expect(lines[0]).toContain('TENANT');
    expect(lines[1]).toContain(` a       ${TRACE}`);
    expect(lines[2]).toContain(` b       ${TRACE}`);
  });
});
