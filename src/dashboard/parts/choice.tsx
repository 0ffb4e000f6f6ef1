import { visibleText } from '../view-models/visible-text.ts';

interface ChoiceProps {
  readonly label: string;
  /** True: only a screen reader has the label. */
  readonly isLabelHidden?: boolean;
  readonly value: string;
  /** Values, or values with their names. */
  readonly choices: readonly (string | readonly [value: string, name: string])[];
  readonly onChoice: (value: string) => void;
}

/** Select with its label. A value that is not among the choices is shown, too. */
export function Choice({ label, isLabelHidden = false, value, choices, onChoice }: ChoiceProps) {
  const named = choices.map((each) => (typeof each === 'string' ? ([each, each] as const) : each));
  const all = named.some(([each]) => each === value) ? named : [[value, value] as const, ...named];
  return (
    <label class="choice">
      <span class={isLabelHidden ? 'unseen' : undefined}>{label}</span>{' '}
      <select value={value} onChange={({ currentTarget }) => onChoice(currentTarget.value)}>
        {all.map(([each, name]) => (
          <option key={each} value={each} selected={each === value}>
            {visibleText(name)}
          </option>
        ))}
      </select>
    </label>
  );
}
