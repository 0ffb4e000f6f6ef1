import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';

interface FigureProps {
  /** Subject of the figure. */
  readonly title: string;
  /** Conclusion from the figure, in words. */
  readonly conclusion: string;
  readonly drawing: ComponentChildren;
  /** The same numbers as a table. */
  readonly table: ComponentChildren;
}

/** A drawing with its conclusion in words, and the same numbers as a table. */
export function Figure({ title, conclusion, drawing, table }: FigureProps) {
  const [isTable, setTable] = useState(false);
  const titleId = useId();
  return (
    <figure>
      <figcaption>
        <h2 id={titleId}>{title}</h2>
        <p>{conclusion}</p>
        <button
          type="button"
          aria-pressed={isTable}
          aria-describedby={titleId}
          onClick={() => setTable(!isTable)}
        >
          Show as table
        </button>
      </figcaption>
      {isTable ? table : drawing}
    </figure>
  );
}
