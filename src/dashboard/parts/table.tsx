import type { ComponentChildren } from 'preact';
import { visibleText } from '../view-models/visible-text.ts';
import { Text } from './text.tsx';

export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ComponentChildren;
  readonly isNumber?: boolean;
}

interface TableProps<Row> {
  /** Name of the table for people and for screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** True when a heading above says the same as the caption. */
  readonly isCaptionHidden?: boolean;
  /** Class of the table. */
  readonly kind?: string;
}

/** A real table; its first column names the row. A wide one scrolls inside its own box. */
export function Table<Row>({
  caption,
  columns,
  rows,
  keyOf,
  isCaptionHidden = false,
  kind,
}: TableProps<Row>) {
  return (
    <div class="scroll" role="group" aria-label={`${visibleText(caption)}, scrolls sideways`} tabIndex={0}>
      <table class={kind}>
        <caption class={isCaptionHidden ? 'unseen' : undefined}>
          <Text of={caption} />
        </caption>
        <thead>
          <tr>
            {columns.map(({ name, isNumber }) => (
              <th key={name} scope="col" class={isNumber === true ? 'number' : undefined}>
                <Text of={name} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ name, cell, isNumber }, index) =>
                index === 0 ? (
                  <th key={name} scope="row">
                    {cell(row)}
                  </th>
                ) : (
                  <td key={name} class={isNumber === true ? 'number' : undefined}>
                    {cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
