import { DECISIONS } from './deviations.ts';
import { recordedCases } from './recorded-cases.ts';
import { restatedCase } from './restated-case.ts';

function head(total: number, listed: number): string {
  return `# Where results differ from the recorded ones

The scorers are checked against ${total} results recorded from \`@mastra/evals\` 1.10.2 with \`@mastra/core\` 1.71.0 (the legacy
metrics: 0.14.4 with 0.24.9). All of them are compared; ${total - listed} are equal, and the ${listed} named here differ as the decision of
their row says and in nothing else. A case that is named and has become equal, or that differs otherwise, fails the suite
(\`npm run test:parity\`). The number is that of the decision in the specification of the scorers. After each case stands what
was recorded and what happens here: the score, or why there is none, and how many questions the judge was asked.

This page is written by \`npm run test:parity -- --update\`.

| | decision | recorded cases that differ |
| --- | --- | --- |
`;
}

/** The written list of deviations, as Markdown, with what changed in each listed case. */
export function deviationsDocument(changes: ReadonlyMap<string, string>, total: number): string {
  const rows = DECISIONS.map(({ number, says, cases }) => {
    const named = cases.map((id) => `\`${id}\`: ${changes.get(id)}`);
    return `| ${number} | ${says} | ${named.join('; ')} |`;
  });
  const listed = DECISIONS.flatMap(({ cases }) => cases);
  return `${head(total, listed.length)}${rows.join('\n')}\n${restatedNote(new Set(listed))}`;
}

function restatedNote(listed: ReadonlySet<string>): string {
  const restated = recordedCases('judge').filter((recorded) => restatedCase(recorded) !== undefined);
  const names = restated.map(({ id }) => id).filter((id) => !listed.has(id));
  return `
## Cases that are put together anew

A recorded judge answers from a script, and some scripts speak of another number of things than their run holds, where nothing
about that is being tried. As they stand, such replies are malformed here (decision 6), and the suite shows that they are
refused. Then the run is given as many pieces, units, calls, steps, points or statements as the judge has verdicts on, and the
result must be equal: the same verdicts give the same score. So it is done with ${names.map((id) => `\`${id}\``).join(', ')},
and with the judged \`legacy/…\` cases. The listed cases of decision 6 are scored from their verdicts in the same way.
`;
}
