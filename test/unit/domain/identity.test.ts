import { describe, expect, it } from 'vitest';
import { decisionVersion } from '../../../src/domain/decision.ts';
import {
  canonicalJson,
  computeFingerprint,
  hashValue,
  computeScoreId,
} from '../../../src/domain/identity.ts';
import { scoreVersion } from '../../../src/domain/score.ts';
import { fc } from '../../support/fast-check.ts';

const key = {
  tenant: '',
  target: 'trace' as const,
  targetId: 'abc',
  scorer: 'hallucination',
  fingerprint: 'f',
};

function reversed(value: unknown): unknown {
  return typeof value !== 'object' || value === null || Array.isArray(value)
    ? value
    : Object.fromEntries(
        Object.entries(value)
          .toReversed()
          .map(([name, member]) => [name, reversed(member)]),
      );
}

describe('canonical JSON', () => {
  it('gives the same text whatever the order of keys', () => {
    expect(canonicalJson({ b: [1, { d: 1, c: 2 }], a: null })).toBe(
      canonicalJson({ a: null, b: [1, { c: 2, d: 1 }] }),
    );
  });

  it('keeps keys that are special to objects', () => {
    expect(canonicalJson(JSON.parse('{"__proto__":1,"a":2}'))).toBe('{"__proto__":1,"a":2}');
  });

  it('gives the same text for keys in any order, at every level, also for keys like numbers', () => {
    const value = fc.letrec((tie) => ({
      object: fc.dictionary(fc.string(), fc.oneof({ maxDepth: 3 }, fc.jsonValue(), tie('object'))),
    })).object;
    fc.assert(
      fc.property(value, (given) => {
        expect(canonicalJson(reversed(given))).toBe(canonicalJson(given));
      }),
    );
  });

  it('has keys in the order of their code units', () => {
    expect(
      canonicalJson([
        { a: 1, b: 2 },
        { b: 1, a: 2, B: 3 },
        { é: 1, z: 2 },
      ]),
    ).toBe('[{"a":1,"b":2},{"B":3,"a":2,"b":1},{"z":2,"é":1}]');
  });

  it('reads back as the value that it was made of', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('tells different values apart', () => {
    expect(hashValue({ a: 1 })).not.toBe(hashValue({ a: '1' }));
  });
});

describe('score ids', () => {
  it('stay the same for ever, for users keep them', () => {
    expect(computeScoreId(key)).toMatchInlineSnapshot(`"27862007-36a1-5737-838f-291c2848127e"`);
  });

  it.each([
    { tenant: 'b' },
    { target: 'agent' as const },
    { targetId: 'abd' },
    { scorer: 'faithfulness' },
    { fingerprint: 'g' },
  ])('differ by %o', (change) => {
    expect(computeScoreId({ ...key, ...change })).not.toBe(computeScoreId(key));
  });

  it('do not run two parts together', () => {
    expect(computeScoreId({ ...key, tenant: 'a', targetId: 'bc' })).not.toBe(
      computeScoreId({ ...key, tenant: 'ab', targetId: 'c' }),
    );
  });
});

describe('fingerprints', () => {
  const parts = {
    scorer: 's',
    scorerVersion: '1',
    options: { scale: 1, context: ['a'] },
    promptVersion: '1',
    judgeModel: 'openai/gpt-5-mini',
    decoding: { temperature: 0 },
  };

  it('do not depend on the order in which options are written', () => {
    expect(computeFingerprint({ ...parts, options: { context: ['a'], scale: 1 } })).toBe(
      computeFingerprint(parts),
    );
  });

  it('change with the judge', () => {
    expect(computeFingerprint({ ...parts, judgeModel: 'openai/gpt-5' })).not.toBe(computeFingerprint(parts));
  });
});

describe('row versions', () => {
  it('grow with the evidence first, then with the attempts', () => {
    const first = decisionVersion({ evidenceUntil: 1000, attempts: 0 });
    const retried = decisionVersion({ evidenceUntil: 1000, attempts: 5000 });
    const later = decisionVersion({ evidenceUntil: 1001, attempts: 0 });

    expect(retried > first).toBe(true);
    expect(later > retried).toBe(true);
  });

  it('let live win over a backfill of the same evidence, a tombstone over its row, a re-score over both, and newer evidence over all', () => {
    const evidenceUntil = Date.UTC(2026, 10, 22);
    const row = { evidenceUntil, source: 'live', revision: 1, isDeleted: false } as const;
    const backfill = scoreVersion({ ...row, source: 'backfill', revision: 9 });
    const live = scoreVersion(row);
    const withdrawn = scoreVersion({ ...row, isDeleted: true });
    const again = scoreVersion({ ...row, revision: 2 });
    const later = scoreVersion({ ...row, evidenceUntil: evidenceUntil + 1, source: 'backfill' });

    const ascending = [backfill, live, withdrawn, again, later];
    expect(ascending.toSorted((a, b) => (a < b ? -1 : 1))).toEqual(ascending);
    expect(new Set(ascending).size).toBe(5);
  });
});

describe('options that are no data', () => {
  it('count by their source, so that a changed function starts a new series', () => {
    expect(hashValue({ check: (x: number) => x > 1 })).not.toBe(hashValue({ check: (x: number) => x > 2 }));
    expect(hashValue({ pattern: /a/ })).not.toBe(hashValue({ pattern: /b/ }));
  });
});
