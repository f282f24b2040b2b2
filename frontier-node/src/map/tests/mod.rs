//! Group 0 on three nodes of one process, over their real internal service.

mod cluster;
mod fake_shards;
mod jobs;
mod life;
mod moves;
mod new_disk;
mod refusals;
mod unasked;
