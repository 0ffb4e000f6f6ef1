import { useId, useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { visibleText } from '../view-models/visible-text.ts';
import { writeCsv, type CsvCell } from '../view-models/csv.ts';

/** Numbers of a chart as a file. */
export interface ChartCsv {
  readonly file: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly CsvCell[])[];
}

function saveCsv({ file, columns, rows }: ChartCsv): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([writeCsv(columns, rows)], { type: 'text/csv' }));
  link.download = file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 0);
}

export interface FigureProps {
  /** Subject of the figure. */
  readonly title: string;
  /** Conclusion from the figure, in words. */
  readonly conclusion?: ComponentChildren;
  /** Choices of what the figure shows. */
  readonly controls?: ComponentChildren;
  readonly drawing: ComponentChildren;
  /** The same numbers as a table. */
  readonly table: ComponentChildren;
  readonly csv: ChartCsv;
}

/** A drawing with its conclusion in words, and the same numbers as a table and as a file. */
export function Figure({ title, conclusion, controls, drawing, table, csv }: FigureProps) {
  const [isTable, setTable] = useState(false);
  const titleId = useId();
  return (
    <figure class="panel" aria-labelledby={titleId}>
      <figcaption>
        <div class="row between">
          <h2 id={titleId}>{visibleText(title)}</h2>
          <p class="choices">
            {controls}
            <button
              type="button"
              aria-pressed={isTable}
              aria-describedby={titleId}
              onClick={() => setTable(!isTable)}
            >
              Show as table
            </button>
            <button type="button" aria-describedby={titleId} onClick={() => saveCsv(csv)}>
              CSV
            </button>
          </p>
        </div>
        {conclusion !== undefined && <p class="note">{conclusion}</p>}
      </figcaption>
      {isTable ? table : drawing}
    </figure>
  );
}
