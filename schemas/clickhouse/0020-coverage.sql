-- Decisions on the evidence of a time are counted without a scan of all of them: a part holds the rows of some days.
ALTER TABLE decisions
    ADD INDEX IF NOT EXISTS by_evidence_until EvidenceUntil TYPE minmax GRANULARITY 1;
ALTER TABLE decisions
    MATERIALIZE INDEX by_evidence_until;
