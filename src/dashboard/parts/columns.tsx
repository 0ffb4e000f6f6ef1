import { adjustQuery, query } from '../router.ts';
import { toggleValue } from '../view-models/trace-list.ts';
import { Text } from './text.tsx';

interface ColumnsProps {
  /** Parameter of the address that keeps the choice: the columns that are taken away, or those that are added. */
  readonly parameter: 'hide' | 'show';
  readonly names: readonly string[];
}

/** Choice of the columns that a table shows. */
export function Columns({ parameter, names }: ColumnsProps) {
  const search = query.value;
  const named = search.getAll(parameter);
  return (
    <details class="columns">
      <summary class="small">Columns</summary>
      <fieldset class="menu">
        <legend class="unseen">Columns</legend>
        {names.map((value) => (
          <label key={value}>
            <input
              type="checkbox"
              checked={named.includes(value) === (parameter === 'show')}
              onChange={() => adjustQuery(toggleValue(search, { parameter, value }))}
            />{' '}
            <Text of={value} />
          </label>
        ))}
      </fieldset>
    </details>
  );
}
