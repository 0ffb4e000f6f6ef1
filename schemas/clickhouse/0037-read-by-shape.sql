-- True when the run of a decision was read by the form of its values.
ALTER TABLE decisions
    ADD COLUMN IF NOT EXISTS `ReadByShape` Bool DEFAULT false;
