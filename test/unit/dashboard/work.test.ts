import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  buildCostChart,
  forecastBudget,
  priceLines,
  readCostRange,
  sumModels,
} from '../../../src/dashboard/view-models/costs.ts';
import { writeCsv } from '../../../src/dashboard/view-models/csv.ts';
import { buildFunnel, describeFunnel } from '../../../src/dashboard/view-models/funnel.ts';
import {
  describeCause,
  writeCause,
  describeChange,
  describeHold,
  describeStanding,
  findBudgetAlert,
  findRunbook,
  groupMonitors,
  keepChosen,
} from '../../../src/dashboard/view-models/incidents.ts';
import { describeProof, nameIssue } from '../../../src/dashboard/view-models/issues.ts';
import {
  buildAsked,
  findFault,
  judgeYaml,
  listChanges,
  NEW_JUDGE,
} from '../../../src/dashboard/view-models/own-judge.ts';
import { newRuleYaml, readRule } from '../../../src/dashboard/view-models/rule-yaml.ts';
import {
  describeCertificate,
  describePassLine,
  formatChecked,
} from '../../../src/dashboard/view-models/rates.ts';
import { describeHealth } from '../../../src/dashboard/view-models/status-facts.ts';
import {
  chooseVersions,
  listVersionLines,
  readEvidence,
} from '../../../src/dashboard/view-models/versions.ts';
import { writeYaml } from '../../../src/dashboard/view-models/write-yaml.ts';
import { FULL } from '../../support/dashboard/canned-replies.ts';
import { INCIDENT_DETAIL, ISSUE, VERSIONS } from '../../support/dashboard/canned-work.ts';

describe('the funnel of the coverage', () => {
  const funnel = FULL['/coverage/funnel']!;

  it('has four steps that never grow, each with its losses', () => {
    const steps = buildFunnel(funnel);
    expect(steps.map(({ name, count }) => [name, count])).toEqual([
      ['Arrived', 5_200],
      ['Eligible', 5_130],
      ['Sampled', 4_100],
      ['Scored', 3_745],
    ]);
    expect(steps[1]?.losses.map(({ reason }) => reason)).toEqual(['sampled_out']);
  });

  it('is told with its main reason', () => {
    expect(describeFunnel(funnel)).toBe(
      '73 % of what the rules selected has a score, on 412 runs. Most of the rest: sampled out (1,030).',
    );
    expect(describeFunnel({ ...funnel, eligible: 0 })).toBe('No rule selected anything of 412 runs.');
  });
});

describe('costs by day', () => {
  const { items } = FULL['/costs']!;
  const RANGE = readCostRange({ since: ['3d'] }, Date.parse('2026-11-23T00:00:00.000Z'));

  it('are stacked by key for every day of the range, of judges for rules and of agents for agents', () => {
    const chart = buildCostChart(items, 'rule', RANGE);
    expect(chart.keys).toEqual(['production', 'local-8b']);
    expect(chart.days.map(({ total }) => Number(total.toFixed(2)))).toEqual([0, 1.12, 2.12]);
    expect(chart.days[2]?.parts[1]?.from).toBe(1.92);
    expect(buildCostChart(items, 'agent', RANGE).total).toBeCloseTo(0.32);
    expect(buildCostChart(items, 'model', RANGE).total).toBeCloseTo(3.56);
  });

  it('join small keys, and lose nothing', () => {
    const many = Array.from({ length: 9 }, (_, index) => ({
      ...items[0]!,
      key: `rule-${index}`,
      judgeUsd: index,
    }));
    const chart = buildCostChart(many, 'rule', RANGE);
    expect(chart.keys.at(-1)).toBe('others');
    expect(chart.total).toBe(36);
  });

  it.each([
    ['half of the cap after half of the day', 2.5, { words: '$5.00 at its end' }],
    ['more than the pace allows', 4, { words: 'cap reached about', at: '2026-11-22T15:00:00.000Z' }],
    ['all of it', 5, { words: 'spent' }],
  ])('forecast a limit that has spent %s', (_, spentUsd, forecast) => {
    const budget = {
      ...FULL['/judges']!.budgets[0]!,
      spentUsd,
      capUsd: 5,
      renewsAt: '2026-11-23T00:00:00.000Z',
    };
    expect(forecastBudget(budget, Date.parse('2026-11-22T12:00:00.000Z'))).toEqual(forecast);
  });

  it('are summed by model, the dearest first, and name the price of one as the configuration reads it', () => {
    expect(sumModels(items)).toEqual([
      {
        model: 'production',
        agentUsd: 0.32,
        judgeUsd: expect.closeTo(2.84) as number,
        runs: 568,
        unpriced: 0,
      },
      { model: 'local-8b', agentUsd: null, judgeUsd: 0.4, runs: 80, unpriced: 80 },
    ]);
    expect(parse(priceLines('a/b: c'))).toEqual({
      judges: { prices: { 'a/b: c': { input: 0.25, output: 2 } } },
    });
  });
});

describe('two versions of an agent', () => {
  it('have a line for each quality, then tokens and time', () => {
    expect(listVersionLines(VERSIONS).map(({ name, right }) => [name, right])).toEqual([
      ['hallucination', '68 % [64, 71]'],
      ['tone', '91 % [87, 94]'],
      ['Tokens a run', '870'],
      ['Time, median', '2.9 s'],
    ]);
  });

  it.each([
    [53.2, '10', '53'],
    [0.5, '3.2 to 1', ''],
    [null, '–', ''],
  ])('have evidence %j as odds', (log10, text, power) => {
    expect(readEvidence(log10)).toEqual({ text, power });
  });

  it('are the newest one and the one before it, unless the address names others', () => {
    const versions = [
      { version: '1.5.0', firstSeen: '2026-11-21T00:00:00.000Z' },
      { version: '1.3.0', firstSeen: '2026-11-01T00:00:00.000Z' },
      { version: '1.4.0', firstSeen: '2026-11-09T00:00:00.000Z' },
    ];
    expect(chooseVersions(versions, { left: null, right: null })).toEqual({ left: '1.4.0', right: '1.5.0' });
    expect(chooseVersions(versions, { left: '1.3.0', right: '1.5.0' })).toEqual({
      left: '1.3.0',
      right: '1.5.0',
    });
    expect(chooseVersions(versions.slice(0, 1), { left: null, right: null })).toBeUndefined();
  });
});

describe('an alert', () => {
  const alert = FULL['/alerts']!.items[0]!;

  it('names a limit as one, and says nothing of a fall from it', () => {
    expect(describeChange(alert)).toBe('0.8 → 0.7 (n = 69, 2 too late)');
    const limited = { ...alert, before: null, limit: 0.25, after: 0.987 };
    expect(describeChange({ ...limited, detector: 'floor' })).toBe('0.987, limit 0.25 (n = 69, 2 too late)');
    expect(describeChange({ ...limited, detector: 'rate' })).toBe('99 %, limit 25 % (n = 69, 2 too late)');
  });

  it('is kept by the choice of its agent and its environment, and so is one about all agents', () => {
    const ofAll = { ...alert, series: { ...alert.series, agent: '' } };
    const keep = (frame: Readonly<Record<string, readonly string[]>>) => keepChosen([alert, ofAll], frame);
    const { agent, environment } = alert.series;
    expect(keep({})).toEqual([alert, ofAll]);
    expect(keep({ agent: ['another', agent], environment: [environment] })).toEqual([alert, ofAll]);
    expect(keep({ agent: ['another'] })).toEqual([ofAll]);
    expect(keep({ environment: ['another'] })).toEqual([]);
  });

  it.each([
    [{ detector: 'drift', limit: null, mean: 0.7, baseline: 0.8 }, 'mean 0.7, usual 0.8'],
    [{ detector: 'floor', limit: 0.9, mean: 0.7 }, 'mean 0.7, limit 0.9'],
    [{ detector: 'rate', limit: 0.25, mean: 0.987, finding: null }, 'limit 25 %'],
    [{ detector: 'rate', limit: 0.25, mean: 0.987 }, 'share 30 %, limit 25 %'],
  ])('has a monitor that stands at %o: %s', (state, words) => {
    const finding = { changeBegan: null, before: 0.25, after: 0.3, count: 9, evidenceLog10: null };
    expect(describeStanding({ ...FULL['/monitors']!.items[0]!, finding, ...state })).toBe(words);
  });

  it('says in a sentence where its change came from, and nothing of a change within chance', () => {
    const { cause } = INCIDENT_DETAIL;
    expect(describeCause({ cause })).toMatch(
      /98 % within agent version 1\.5\.0 .*\); a shift of the traffic adds 2 %\./u,
    );
    const ofMix = (mix: string) =>
      describeCause({ cause: { ...cause!, sentence: `It fell, mix ${mix} %.` } });
    expect(ofMix('−5')).toContain('It fell; a shift of the traffic takes 5 % off.');
    expect(ofMix('0')).toContain('It fell.');
    expect(describeCause({ cause: { ...cause!, verdict: 'none' } })).toBe('');
    expect(describeCause({ cause: null })).toBe('');
  });

  it.each([
    ['https://wiki.example/runbook', 'https://wiki.example/runbook'],
    ['javascript:alert(1)', undefined],
    ['no address', undefined],
  ])('opens the runbook %s only at an address of the web', (runbook_url, found) => {
    expect(findRunbook({ runbook_url })).toBe(found);
  });

  it('of a limit is the one of the greatest percentage', () => {
    const { spentUsd, capUsd, renewsAt } = FULL['/judges']!.budgets[0]!;
    const budget = {
      scope: 'rule',
      rule: 'production',
      tenant: null,
      period: 'day',
      spentUsd,
      capUsd,
      renewsAt,
    } as const;
    const incidents = [80, 100].map((percent) => ({
      event: { ...alert, incidentId: `b-${percent}`, budget: { ...budget, percent } },
      isOpen: true,
    }));
    expect(findBudgetAlert(incidents, budget)?.incidentId).toBe('b-100');
    expect(findBudgetAlert(incidents, { ...budget, rule: 'other' })).toBeUndefined();
  });

  it('has its monitors by rule, with the number of each state', () => {
    const monitor = FULL['/monitors']!.items[0]!;
    const all = [monitor, { ...monitor, phase: 'ok' as const }, { ...monitor, phase: 'learning' as const }];
    expect(groupMonitors(all)).toMatchObject([{ states: '1 ok, 1 learning, 1 firing', isFiring: true }]);
  });
});

describe('YAML', () => {
  it.each([
    { store: { dataDir: '.spanscore', port: 8123 }, list: [1, 'two', { three: true, four: [] }], empty: {} },
    { text: 'yes', number: '1.0', colon: 'a: b', hash: '# no', lines: 'a\nb', nothing: null, 'key: odd': 1 },
  ])('of %j is read back as it was', (value) => {
    expect(parse(writeYaml(value))).toEqual(value);
  });

  it('of a rule is found in a configuration, in a list, and by itself', () => {
    const rule = { name: 'a', scorers: ['tone'] };
    for (const parsed of [{ rules: [rule] }, [rule], rule]) {
      expect(readRule(parsed)).toEqual({ rule, name: 'a' });
    }
    expect(readRule(parse(newRuleYaml(['tone'])))).toMatchObject({ name: 'new-rule' });
    expect(readRule({ rules: [rule, rule] })).toHaveProperty('fault');
    expect(readRule({ rules: [{ scorers: [] }] })).toHaveProperty('fault');
  });
});

it('CSV quotes what it has to, and no text of a trace is a formula', () => {
  expect(
    writeCsv(
      ['agent', 'n'],
      [
        ['a, "b"', 1],
        ['=cmd()', null],
      ],
    ),
  ).toBe('agent,n\r\n"a, ""b""",1\r\n\'=cmd(),\r\n');
});

it('the status says first what fails', () => {
  expect(describeHealth(FULL['/status']!)).toEqual({
    isHealthy: false,
    words:
      '2 of its parts fail. kafka: no broker answers; hallucination (openai/gpt-5-mini): no reply in 30 s',
  });
  const sound = { ...FULL['/status']!, components: [], judges: [] };
  expect(describeHealth(sound).isHealthy).toBe(true);
});

it.each([
  ['tool `refund` fails: HTTP 504', 'tool refund fails: HTTP 504'],
  ['', 'wrong claim'],
])('the issue with the title %j is named %s', (title, name) => {
  expect(nameIssue({ title, kind: 'claim' })).toBe(name);
});

describe('the proof that a version mends an issue', () => {
  const proof = ISSUE.verification!;
  it.each([
    { verification: null, words: undefined },
    { verification: { ...proof, since: null }, words: 'mended in 1.6.0? No run of it yet; before 10 %' },
    {
      verification: { ...proof, state: 'not-verified' as const },
      words: 'not verified in 1.6.0: 10 % → 6 % [2, 9]',
    },
    {
      verification: {
        ...proof,
        state: 'verified' as const,
        since: { value: 0.001, low: 0, high: 0.002, n: 900 },
      },
      words: 'verified in 1.6.0: 10 % → at most 0.2 % (95 %)',
    },
  ])('is told as $words', ({ verification, words }) => {
    expect(describeProof({ ...ISSUE, verification })).toBe(words);
  });
});

describe('a judge of one’s own', () => {
  it.each([
    {
      type: 'score' as const,
      answer: { type: 'score', levels: ['bad: no help', 'good'] },
      text: 'bad: no help\n\n good',
    },
    {
      type: 'choice' as const,
      answer: { type: 'choice', options: { refund: 'money: back', other: '' } },
      text: 'refund: money: back\nother',
    },
  ])('with $type has its answers from lines, also in YAML', ({ type, answer, text }) => {
    const draft = {
      ...NEW_JUDGE,
      name: 'mine',
      ask: ' How? ',
      judge: 'openai/gpt-5-mini',
      type,
      choices: { ...NEW_JUDGE.choices, [type]: text },
    };
    const asked = { ask: 'How?', answer, judge: 'openai/gpt-5-mini' };
    expect(buildAsked(draft)).toEqual(asked);
    expect(parse(judgeYaml(draft))).toEqual({ scorers: { mine: asked } });
    expect(listChanges(draft, [])).toEqual([{ path: 'scorers.mine', value: asked }]);
  });

  it.each([
    [{}, 'write the question'],
    [{ ask: 'a', sees: [] }, 'let the judge see a part of the run'],
    [{ ask: 'a', name: 'no spaces' }, 'give it a name of letters, digits and hyphens'],
    [{ ask: 'a', name: 'refund-2' }, undefined],
  ])('of %j asks to %s', (draft, fault) => {
    expect(findFault({ ...NEW_JUDGE, ...draft })).toBe(fault);
  });
});

describe('who changed', () => {
  const { cause } = INCIDENT_DETAIL;
  const sentence = writeCause(cause!);
  const judge = { before: 0.9, after: 0.7, n: 40, evidenceLog10: 3 };
  it.each([
    [{}, sentence, 'held: the judge is not certified'],
    [
      { who: 'judge' as const, judge },
      `The judge changed; the agent did not. On its anchors: 0.9 → 0.7 (n = 40). ${sentence}`,
      'held: the judge changed',
    ],
    [
      { who: 'deciding' as const },
      `${sentence} Whether the agent or its judge changed is being found out; the message waits.`,
      'held: the judge is not certified',
    ],
    [
      { who: 'unknown' as const },
      `${sentence} Whether the agent or its judge changed is not known.`,
      'held: the judge is not certified',
    ],
  ])(
    'of %j is told before what changed, or after it when it is not known, and why no message is sent',
    (who, words, hold) => {
      const told = { cause: { ...cause!, ...who } };
      expect(describeCause(told)).toBe(words);
      expect(describeHold(told)).toBe(hold);
    },
  );
});

describe('the line from which scores pass', () => {
  it.each([
    [0.8, true, true, 'from 0.8 it passes'],
    [0.8 + 2e-9, true, true, 'above 0.8 it passes'],
    [0.75, true, false, 'up to 0.25 it passes'],
    [0.5 + 2e-9, true, false, 'below 0.5 it passes'],
    [0.5, false, true, 'no labels and no bar say what passes: the better half of the range does'],
    [0.5, true, null, ''],
  ])('at %d, declared %s, higher is better %s: %s', (line, isDeclared, higherIsBetter, words) => {
    const scale = { scoreMin: 0, scoreMax: 1, higherIsBetter };
    expect(describePassLine({ line, isDeclared }, scale)).toBe(words);
  });
});

describe('a pass rate that people check', () => {
  const [estimate] = FULL['/labels/estimate']!.items;
  it('has its interval, its labels, and the certificate of the judge', () => {
    expect(formatChecked(estimate)).toBe('86 % [74, 98], 60 labels');
    expect(formatChecked(undefined)).toBe('not checked by people');
    expect(describeCertificate(estimate!.certificate)).toBe(
      'uncertified (lets at least 87 % of the good pass, fails 41 % of the bad)',
    );
    expect(describeCertificate({ state: 'certified', sensitivityLow: null, specificityLow: null })).toBe(
      '✓ certified',
    );
  });
});
