import { describe, expect, it } from 'vitest';
import { answerUnits } from '../../../../../../src/scorers/shared/sentences.ts';

describe('the units of an answer', () => {
  it('are headings, sentences, questions, rows of tables and blocks of code; rules are none', () => {
    const answer = [
      '# Weather',
      'It is 18.5 degrees. Wind is weak! Shall I go on?',
      '| city | temp |',
      '| --- | --- |',
      '| Paris | 18 |',
      '```sh',
      'curl example.com',
      'exit 0',
      '```',
      '1. Take a coat.',
      '---',
    ].join('\n');
    expect(answerUnits(answer)).toEqual([
      '# Weather',
      'It is 18.5 degrees.',
      'Wind is weak!',
      'Shall I go on?',
      '| city | temp |',
      '| Paris | 18 |',
      'curl example.com\nexit 0',
      '1. Take a coat.',
    ]);
  });

  it('end where their lines end, and contain no part of the next line', () => {
    const answer = 'Paris is warm\r\n\n \n  Rome is not (yet)\n2.\nTake a coat.)\n!';
    expect(answerUnits(answer)).toEqual(['Paris is warm', 'Rome is not (yet)', '2.', 'Take a coat.)']);
  });

  it('are found in text without spaces', () => {
    expect(answerUnits('今日は晴れです。気温は18度です。')).toEqual(['今日は晴れです。', '気温は18度です。']);
  });

  it('are at most 200, however long the answer', () => {
    const units = answerUnits(Array.from({ length: 1001 }, (_, index) => `Fact ${index} holds.`).join(' '));
    expect(units.length).toBeLessThanOrEqual(200);
    expect(units.join(' ')).toContain('Fact 1000 holds.');
  });

  it.each([
    ['### Insurance:\n- No\n## The museum opens at 8', ['### Insurance:\n- No', '## The museum opens at 8']],
    ['Is it far? Yes.', ['Is it far?', 'Yes.']],
    [
      'Dr. Smith left vs. Acme Corp. today. He is back.',
      ['Dr. Smith left vs. Acme Corp. today.', 'He is back.'],
    ],
    [
      'Sie endet am 30. Juni 2026. Er ist 40. Sie ist 30.',
      ['Sie endet am 30. Juni 2026.', 'Er ist 40.', 'Sie ist 30.'],
    ],
    [
      'Das gilt z. B. in Wien, d. h. Herr Dr. Maier kommt.',
      ['Das gilt z. B. in Wien, d. h. Herr Dr. Maier kommt.'],
    ],
    [
      'It opens at 9 a.m. Tickets cost 5. No. It is full.',
      ['It opens at 9 a.m.', 'Tickets cost 5.', 'No.', 'It is full.'],
    ],
  ])('of %j are %j', (answer, units) => {
    expect(answerUnits(answer)).toEqual(units);
  });

  it.each(['', '  \n', '???'])('of %j are none', (answer) => {
    expect(answerUnits(answer)).toEqual([]);
  });
});
