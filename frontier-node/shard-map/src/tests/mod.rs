//! Tests of the machine as a whole.

mod field_cases;
mod golden;
mod jobs;
mod kills;
mod node_life;
mod properties;
mod recovered;
mod refusals_of_clusters;
mod refusals_of_jobs;
mod refusals_of_nodes;
mod settings;
