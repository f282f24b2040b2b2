//! Group 0 on three nodes of one process, over their real internal service.

mod cluster;
mod copies;
mod fake_shards;
mod jobs;
mod joining;
mod life;
mod moves;
mod new_disk;
mod refusals;
mod unasked;
