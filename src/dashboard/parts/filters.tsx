import { adjustQuery, query } from '../router.ts';
import { toQuery, type FilterField } from '../view-models/query-filters.ts';

/** Form whose fields are parameters of the page's address, so that a link shows the same. */
export function Filters({
  fields,
  name,
}: {
  readonly fields: readonly FilterField[];
  readonly name: string;
}) {
  const search = query.value;
  const apply = (form: HTMLFormElement): void =>
    adjustQuery({ ...toQuery(fields, new FormData(form)), cursor: undefined });
  return (
    <form
      role="search"
      aria-label={name}
      class="filters"
      onSubmit={(event) => {
        event.preventDefault();
        apply(event.currentTarget);
      }}
    >
      {fields.map((field) => (
        <label key={field.name}>
          {field.label}
          <Field field={field} value={search.getAll(field.name).join(', ')} />
        </label>
      ))}
      <button type="submit">Apply</button>
      <button
        type="button"
        onClick={() =>
          adjustQuery(
            Object.fromEntries([...fields.map((each) => [each.name, undefined]), ['cursor', undefined]]),
          )
        }
      >
        Clear
      </button>
    </form>
  );
}

function Field({
  field: { name, choices, placeholder = '' },
  value,
}: {
  readonly field: FilterField;
  readonly value: string;
}) {
  if (choices === undefined) {
    return <input name={name} value={value} placeholder={placeholder} autocomplete="off" />;
  }
  const known = choices.includes(value) || value === '' ? choices : [value, ...choices];
  return (
    <select name={name} value={value} onChange={({ currentTarget }) => currentTarget.form?.requestSubmit()}>
      <option value="">{placeholder === '' ? 'any' : placeholder}</option>
      {known.map((choice) => (
        <option key={choice} value={choice} selected={choice === value}>
          {choice}
        </option>
      ))}
    </select>
  );
}
