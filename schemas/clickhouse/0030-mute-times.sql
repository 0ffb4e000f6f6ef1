-- Since when a mute goes on: a longer mute keeps it, so that the list of mutes has an order that a change does not move.

ALTER TABLE alert_mutes
    ADD COLUMN IF NOT EXISTS `MutedAt` DateTime64(3, 'UTC') DEFAULT WrittenAt;
