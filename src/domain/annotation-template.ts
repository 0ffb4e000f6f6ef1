/** Place in an annotation that is filled in, in the form that Prometheus uses. */
const TEMPLATE = /\{\{\s*(?:\$labels\.(\w+)|\$value)\s*\}\}/g;

/** Fills in the labels of an alert and its observed value. A label that the alert does not have becomes ''. */
export function fillTemplate(
  text: string,
  { labels, value }: { readonly labels: Readonly<Record<string, string>>; readonly value: string },
): string {
  return text.replaceAll(TEMPLATE, (_, label: string | undefined) =>
    label === undefined ? value : (labels[label] ?? ''),
  );
}

/** Describes the first template in an annotation that cannot be filled in; undefined when there is none. */
export function findTemplateFault(text: string, labelNames: readonly string[]): string | undefined {
  for (const [template, label] of text.matchAll(TEMPLATE)) {
    if (label !== undefined && !labelNames.includes(label)) {
      return `${template} names no label of the alert; its labels are ${labelNames.join(', ')}`;
    }
  }
  const [rest] = /\{\{.*?(?:\}\}|$)/s.exec(text.replaceAll(TEMPLATE, '')) ?? [];
  return rest === undefined
    ? undefined
    : `${rest} is no template of spanscore; write {{ $labels.agent }}, another label, or {{ $value }}`;
}
