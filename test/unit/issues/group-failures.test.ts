import { describe, expect, it } from 'vitest';
import type { FailureSubject } from '../../../src/domain/failure.ts';
import { groupSignatures } from '../../../src/issues/group-failures.ts';
import { estimateShare } from '../../../src/issues/read-issues.ts';
import { updateIssues } from '../../../src/issues/update-issues.ts';
import type { Signature } from '../../../src/store/contracts/issues.ts';
import { seededRandom } from '../../support/builders/score-streams.ts';
import { memoryFailures } from '../../support/fakes/memory-failures.ts';

const QUOTE = 'goods are taken back for <number> days';

const TEXTS = [
  'the gift is wrapped in red paper today',
  'the gift is wrapped in red paper now',
  'the parcel was lost by the carrier',
  'a refund needs the invoice of the shop',
];

function signature(text: string, firstSeen: number, signatureId = `id-${text}`): Signature {
  return {
    tenant: '',
    agent: 'a',
    kind: 'claim',
    signatureId,
    subject: { verdict: 'unsupported', text },
    issueIds: [signatureId],
    quotes: [],
    firstSeen,
    firstTrace: 't',
  };
}

describe('signatures', () => {
  it('are one issue when their texts are similar, in any order of arrival', () => {
    const all = TEXTS.map((text, index) => signature(text, index));
    const group = (order: readonly Signature[]) =>
      new Set(groupSignatures(order, []).map((set) => set.map(({ signatureId }) => signatureId).join()));
    const expected = group(all);
    expect(expected).toEqual(new Set([`id-${TEXTS[0]},id-${TEXTS[1]}`, `id-${TEXTS[2]}`, `id-${TEXTS[3]}`]));
    for (const [index] of all.entries()) {
      const turned = [...all.slice(index), ...all.slice(0, index)];
      expect([group(turned), group(turned.toReversed())]).toEqual([expected, expected]);
    }
  });

  const tool = (errorType: string, text: string) => ({ tool: 'refund', errorType, text });
  const claim = (text: string, quote?: string) => ({
    verdict: 'contradicted',
    text,
    ...(quote && { quote }),
  });
  it.each<[boolean, Signature['kind'], FailureSubject, FailureSubject]>([
    [
      true,
      'claim',
      claim('your order is wrapped as a gift for free'),
      claim('free gift wrapping of the order'),
    ],
    [true, 'claim', claim('returns take a year', QUOTE), claim('send it back whenever', QUOTE)],
    [false, 'claim', claim('returns take a year'), claim('send it back whenever')],
    [true, 'tool-error', tool('HTTP 504', 'gateway timeout'), tool('HTTP 504', 'no reply of upstream')],
    [true, 'tool-error', tool('', 'no reply within <number> s'), tool('', 'the call timed out')],
    [false, 'tool-error', tool('HTTP 504', 'gateway timeout'), tool('HTTP 503', 'gateway timeout')],
    [
      false,
      'tool-error',
      tool('HTTP 422', 'the card has expired'),
      tool('HTTP 422', 'name of the street missing'),
    ],
    [true, 'claim', claim('ご注文は明日の午後に大阪へ届きます'), claim('明日の午後、大阪へご注文が届きます')],
  ])('are one issue: %s, kind %s, %j and %j', (isOne, kind, ...subjects) => {
    const both = subjects.map((subject, index) => ({
      ...signature('', index, `${index}`),
      kind,
      subject,
      quotes: [subject.quote ?? ''].filter(Boolean),
    }));
    expect(groupSignatures(both, [])).toHaveLength(isOne ? 1 : 2);
  });

  it('of other agents or verdicts are never one', () => {
    const [one] = TEXTS.map((text) => signature(text, 0));
    const others = [
      { ...one!, agent: 'b' },
      { ...one!, subject: { ...one!.subject, verdict: 'contradicted' } },
    ];
    const sets = groupSignatures(
      [one!, ...others].map((each, index) => ({ ...each, signatureId: `${index}` })),
      [],
    );
    expect(sets).toHaveLength(3);
  });
});

describe('an issue', () => {
  it('keeps its id when an earlier failure comes later; the other id is an alias', async () => {
    const store = memoryFailures([signature(TEXTS[0]!, 20)]);
    await updateIssues({ failures: store.failures });
    store.signatures.push(signature(TEXTS[1]!, 10));
    await updateIssues({ failures: store.failures });
    expect(store.issues()).toMatchObject([
      { issueId: `id-${TEXTS[0]}`, aliases: [`id-${TEXTS[1]}`], firstSeen: 10, state: 'open' },
    ]);
    expect(store.relinked).toEqual([[`id-${TEXTS[0]}`, [`id-${TEXTS[1]}`]]]);
  });

  it('without a failure is gone, and its words with it', async () => {
    const store = memoryFailures([signature(TEXTS[0]!, 20, 'a1')]);
    await updateIssues({ failures: store.failures });
    store.signatures.length = 0;
    await updateIssues({ failures: store.failures });
    expect(store.issues()).toEqual([]);
    expect(JSON.stringify(store.rows())).not.toContain('wrapped');
  });
});

describe('the share of an issue', () => {
  it('is within its interval in about 95 of 100 samples', () => {
    const random = seededRandom(7);
    const [runs, share, rate, samples] = [20_000, 0.03, 0.05, 400];
    let covered = 0;
    for (let sample = 0; sample < samples; sample += 1) {
      let [failing, seen] = [0, 0];
      for (let run = 0; run < runs * rate; run += 1) {
        seen += 1;
        failing += random() < share ? 1 : 0;
      }
      const weight = runs / seen;
      const rateOf = estimateShare(
        [{ runs: failing, weight: failing * weight, excess: failing * weight * (weight - 1) }],
        [{ runs }],
      );
      covered += (rateOf?.low ?? 1) <= share && share <= (rateOf?.high ?? 0) ? 1 : 0;
    }
    expect(covered / samples).toBeGreaterThan(0.93);
  });

  it('counts a run that is always kept once', () => {
    expect(estimateShare([{ runs: 20, weight: 20, excess: 0 }], [{ runs: 1_000 }])).toMatchObject({
      value: 0.02,
      n: 1_000,
    });
  });
});
