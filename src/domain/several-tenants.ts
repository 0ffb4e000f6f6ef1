/** Says that several tenants have something of one id, and how to choose. */
export function describeSeveralTenants(
  { kind, id }: { readonly kind: string; readonly id: string },
  tenants: readonly string[],
): string {
  const names = tenants.map((name) => JSON.stringify(name)).join(', ');
  return `several tenants have the ${kind} ${id}: ${names}; name one (--tenant, or the parameter tenant)`;
}
