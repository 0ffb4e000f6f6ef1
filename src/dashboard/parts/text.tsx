import { type ComponentChildren, Fragment, toChildArray } from 'preact';
import { useState } from 'preact/hooks';
import { formatLocalTime, formatTime } from '../view-models/format.ts';
import { cutForReading, visibleText } from '../view-models/visible-text.ts';

/** Runs of characters that may be wider than a narrow column. */
const LONG_RUNS = /(\S{25,})/u;

const AFTER_SIGN = /(?<=[\p{P}\p{S}])(?=[^\p{P}\p{S}])/u;

/**
 * A short text of a trace: never markup, and apart from the direction of the text around it. A long run, such as JSON, breaks after its
 * signs, not inside its words.
 */
export function Text({ of }: { readonly of: string }) {
  const runs = visibleText(of).split(LONG_RUNS);
  const parts = runs.flatMap((run, index) => (index % 2 === 0 ? [run] : run.split(AFTER_SIGN)));
  return (
    <bdi>
      {parts.map((part, index) => (
        <Fragment key={index}>
          {index > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </bdi>
  );
}

interface TextLinkProps {
  readonly to: string;
  readonly of: string;
  /** True for the link of a row, which the keys go to. */
  readonly isRow?: boolean;
  readonly class?: string;
}

/** A link whose words are a short text of a trace. */
export function TextLink({ to, of, isRow, class: look }: TextLinkProps) {
  return (
    <a href={to} class={look} data-row-link={isRow}>
      <Text of={of} />
    </a>
  );
}

/** Parts of a line with a point between them; one that is not there leaves none. */
export function Dotted({ children }: { readonly children: ComponentChildren }) {
  return (
    <>
      {toChildArray(children).map((part, index) => (
        <Fragment key={index}>
          {index > 0 && ' · '}
          {part}
        </Fragment>
      ))}
    </>
  );
}

/** A long text of a trace; a very long one is shown from its beginning until the reader asks for all. */
export function LongText({ of }: { readonly of: string }) {
  const [isWhole, setWhole] = useState(false);
  const { shown, hidden } = cutForReading(of);
  return (
    <div class="long-text">
      <pre>
        <bdi>{visibleText(isWhole ? of : shown)}</bdi>
      </pre>
      {hidden > 0 && !isWhole && (
        <button type="button" onClick={() => setWhole(true)}>
          Show {hidden.toLocaleString('en')} more characters
        </button>
      )}
    </div>
  );
}

interface TimeProps {
  readonly at: string | null | undefined;
  /** True for a time whose day is enough. */
  readonly isDay?: boolean;
}

/** A time where the reader is, with UTC beside the pointer. */
export function Time({ at, isDay = false }: TimeProps) {
  return at === null || at === undefined ? (
    <>–</>
  ) : (
    <time dateTime={at} title={`${formatTime(at)} UTC`}>
      {isDay ? formatLocalTime(at).replace(/, \d\d:\d\d$/u, '') : formatLocalTime(at)}
    </time>
  );
}
