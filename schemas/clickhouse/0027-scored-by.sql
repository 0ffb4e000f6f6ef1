-- Author of a score that a person or a program of the user has sent; '' for a score of spanscore.
ALTER TABLE scores
    ADD COLUMN IF NOT EXISTS `ScoredBy` LowCardinality(String);
