-- Budgets of tenants and of the installation beside those of rules. Scope: 'tenant' or 'total' for a lease of such a budget; '' for a
-- lease of a rule's budget and for a call, which counts in every budget that applies to it. LeaseId: the entries of one process.

ALTER TABLE spend
    ADD COLUMN IF NOT EXISTS `Scope` LowCardinality(String);
