import type { IssueRow, StoredIssue } from '../../../src/domain/failure.ts';
import type { Signature } from '../../../src/store/contracts/issues.ts';
import type { FailureStore } from '../../../src/store/tables/failures.ts';

/** Store of failures in memory: signatures that the test gives, and the issues that are written. */
export function memoryFailures(first: readonly Signature[]) {
  const signatures = [...first];
  const rows = new Map<string, StoredIssue>();
  const relinked: [issueId: string, signatureIds: readonly string[]][] = [];
  const issues = () => [...rows.values()].filter(({ isDeleted }) => !isDeleted);
  const failures = {
    signatures: async () => signatures,
    issues: async () => issues(),
    version: async () => 1,
    regroup: async (written: readonly StoredIssue[]) =>
      written.forEach((row) => rows.set(`${row.tenant} ${row.issueId}`, row)),
    relink: async ({ issueId }: Pick<IssueRow, 'issueId'>, ids: readonly string[]) => {
      relinked.push([issueId, ids]);
    },
  } as unknown as FailureStore;
  return { signatures, failures, issues, relinked, rows: () => [...rows.values()] };
}
