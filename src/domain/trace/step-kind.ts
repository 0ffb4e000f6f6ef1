/** Kinds of the step that a span is. */
const STEP_KINDS = ['agent', 'model', 'tool', 'retrieval', 'other'] as const;
export type StepKind = (typeof STEP_KINDS)[number];
