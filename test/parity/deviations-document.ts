import { isRestatedMetric } from './compare-legacy.ts';
import { DECISIONS, MALFORMED } from './deviations.ts';
import { recordedCases } from './recorded-cases.ts';
import { restatedCase } from './restated-case.ts';

function head(total: number, listed: number): string {
  return `# Where results differ from the recorded ones

The scorers are checked against ${total} results recorded from \`@mastra/evals\` 1.10.2 with \`@mastra/core\` 1.71.0 (the legacy
metrics: 0.14.4 with 0.24.9). All of them are compared. ${total - listed} are equal. The ${listed} cases below differ, and only as the decision of
their row says. The suite (\`npm run test:parity\`) fails if a listed case is equal, or differs in another way. The number of a row is
the number of the decision in the specification of the scorers. Each case shows the recorded result → the result of spanscore: the
score or the reason for no score, and the number of questions to the judge.

\`npm run test:parity -- --update\` writes this page.

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
## Cases with a changed run

A recorded judge answers from a script. Some scripts have more or fewer verdicts than the run has items, although the case does not
test that. Here, such replies are malformed (decision 6), and the suite checks that they are refused. Then the suite changes the run:
it gets as many pieces, units, calls, steps, points or statements as the judge has verdicts. Now the whole result must be equal: the
same verdicts give the same score. The cases of decision 6 are changed in the same way, except those whose judge gives no verdict on
the items (${formatNames(wordless)}). These cases have a changed run and are equal: ${formatNames(names)}.

## Parts that are not compared

- The wording and length of prompts. Over all questions of a run, the prompts must name everything of the run and of the judge's
  findings that the recorded prompts named.
- Sentences made in code. They must name everything that the recorded sentences named. Where a recorded code scorer gives no reason,
  the scorer here gives one.
- The class names of errors.
- The link to a score, which the reference writes into its own trace store.
`;
}

function formatNames(ids: readonly string[]): string {
  return ids.map((id) => `\`${id}\``).join(', ');
}
