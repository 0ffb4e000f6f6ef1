import { isRestatedMetric } from './compare-legacy.ts';
import { DECISIONS, MALFORMED } from './deviations.ts';
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
    const named = cases.map((id) => `${formatNames([id])}: ${changes.get(id)}`);
    return `| ${number} | ${says} | ${named.join('; ')} |`;
  });
  const listed = DECISIONS.flatMap(({ cases }) => cases);
  return `${head(total, listed.length)}${rows.join('\n')}\n${restatedNote(new Set(listed))}`;
}

function restatedNote(listed: ReadonlySet<string>): string {
  const judged = recordedCases('judge').filter((recorded) => restatedCase(recorded) !== undefined);
  const restated = new Set(judged.map(({ id }) => id));
  const wordless = MALFORMED.filter((id) => !restated.has(id) && !id.startsWith('legacy/'));
  const names = [...judged, ...recordedCases('legacy').filter(isRestatedMetric)]
    .map(({ id }) => id)
    .filter((id) => !listed.has(id));
  return `
## Cases that are put together anew

A recorded judge answers from a script, and some scripts speak of another number of things than their run holds, where nothing
about that is being tried. As they stand, such replies are malformed here (decision 6), and the suite shows that they are
refused. Then the run is given as many pieces, units, calls, steps, points or statements as the judge has verdicts on, and all
of the result must be equal: the same verdicts give the same score. So it is done with the cases of decision
6, too, but for those whose judge says nothing of what it was given (${formatNames(wordless)}). These are put together anew and
equal: ${formatNames(names)}.

## What is not compared

Wording and length of prompts (each is held to name what the recorded one named of the run and of the judge's findings, once
over all questions of a run), sentences made in code (held to name what the recorded one named), class names of errors, and
the link to a score that the reference writes into its own trace store.
`;
}

function formatNames(ids: readonly string[]): string {
  return ids.map((id) => `\`${id}\``).join(', ');
}
