import { read } from '../client.ts';
import { useResource } from '../resource.ts';
import type { TraceDetail } from '../view-models/waterfall.ts';
import { CopyButton } from './copy-button.tsx';
import { Loaded } from './loaded.tsx';
import { LongText, Text } from './text.tsx';

/** One span whole, as JSON. */
export function RawSpan({
  trace: { tenant, traceId },
  spanId,
}: {
  readonly trace: Pick<TraceDetail, 'tenant' | 'traceId'>;
  readonly spanId: string;
}) {
  const span = useResource(`span ${tenant} ${traceId} ${spanId}`, (signal) =>
    read('/traces/{traceId}/spans/{spanId}', { params: { traceId, spanId }, query: { tenant }, signal }),
  );
  return (
    <Loaded of={span} what="the span">
      {(data) => {
        const json = JSON.stringify(data, null, 2);
        return (
          <>
            <h3>
              Span <Text of={data.name} />
            </h3>
            <CopyButton text={json} what="the span" />
            <LongText of={json} />
          </>
        );
      }}
    </Loaded>
  );
}
