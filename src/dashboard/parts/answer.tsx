import { cutText } from '../../domain/cut-text.ts';
import type { TraceRow } from '../view-models/trace-list.ts';
import { markAnswer } from '../view-models/answer.ts';
import { verdictSign } from '../view-models/findings.ts';
import { tracePath } from '../view-models/paths/row-paths.ts';
import { Text, Time } from './text.tsx';

/** Longest quote of the evidence under an answer, characters. */
const MAX_QUOTE = 80;

/** Parts of an answer, with claims marked. */
export function MarkedText({ parts }: Pick<ReturnType<typeof markAnswer>, 'parts'>) {
  return (
    <>
      {parts.map(({ text, claims }, index) =>
        claims.length === 0 ? (
          <Text key={index} of={text} />
        ) : (
          <mark key={index}>
            <Text of={text} />
          </mark>
        ),
      )}
    </>
  );
}

/** Question and answer of a run with its finding marked: a link to its trace. */
export function AnswerItem({ row }: { readonly row: TraceRow }) {
  const { tenant, traceId, question, answer, finding, userId, startedAt } = row;
  const { parts, elsewhere } = markAnswer(answer ?? '', finding === null ? [] : [finding.claim]);
  return (
    <a class="answer-item" href={tracePath({ tenant, traceId })} data-row-link>
      <span class="question">
        “<Text of={question ?? ''} />”
      </span>
      <span class="answer">
        <MarkedText parts={parts} />
      </span>
      <span class="small quiet">
        {finding !== null && (
          <>
            <span class="bad">
              {verdictSign(finding.verdict).sign} <Text of={finding.verdict} />
            </span>
            {finding.verdict === 'contradicted' && finding.quote !== null && (
              <>
                {' '}
                by “<Text of={cutText(finding.quote, MAX_QUOTE)} />”
              </>
            )}
            {elsewhere.length > 0 && (
              <>
                :{' '}
                <mark>
                  <Text of={finding.claim} />
                </mark>
              </>
            )}{' '}
            · <Text of={finding.scorer} /> ·{' '}
          </>
        )}
        {userId !== null && (
          <>
            <Text of={userId} /> ·{' '}
          </>
        )}
        <Time at={startedAt} />
      </span>
    </a>
  );
}
