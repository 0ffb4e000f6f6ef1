import { DEVIATIONS } from './deviations.ts';

const HEAD = `# Where results differ from the recorded ones

The scorers are checked against results recorded from \`@mastra/evals\` 1.10.2 with \`@mastra/core\` 1.71.0 (the legacy
metrics: 0.14.4 with 0.24.9). Every recorded case is equal, except those named here; a case that is named and has become
equal fails the suite (\`npm run test:parity\`). The number is that of the decision in the specification of the scorers.
Not compared at all are the 17 cases \`trace/…\` about stored rows of traces: conventions read traces here, with tests of their own.

This page is written by \`npm run test:parity -- --update\`.

| decision | recorded cases that differ |
| --- | --- |
`;

/** The written list of deviations, as Markdown. */
export function deviationsDocument(): string {
  const rows = Object.entries(DEVIATIONS).map(
    ([decision, ids]) => `| ${decision} | ${ids.map((id) => `\`${id}\``).join(', ')} |`,
  );
  return `${HEAD}${rows.join('\n')}\n`;
}
