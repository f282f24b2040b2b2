//! What a node that takes part in group 0 is opened with.

use std::sync::Arc;

use raftlog::NodeId;

use super::rules::ShapeRules;
use super::shaper::Shaper;
use crate::cluster::Greeter;

/// Whether this node has an open link to a replica's process.
pub type IsLinked = Arc<dyn Fn(NodeId) -> bool + Send + Sync>;

/// Options of group 0. The founding members are those of the shards.
#[derive(Clone)]
pub struct MapOptions {
    /// Calls of other nodes.
    pub greeter: Arc<Greeter>,
    /// Who lives, for people.
    pub is_linked: IsLinked,
    /// What carries jobs out; `None`: the shards' leaders, asked over the nodes' internal service.
    pub shaper: Option<Arc<dyn Shaper>>,
    /// What its leader does unasked.
    pub rules: ShapeRules,
}

impl MapOptions {
    /// Group 0 whose jobs are carried out by the shards' leaders.
    pub fn new(greeter: Arc<Greeter>, is_linked: IsLinked) -> Self {
        Self {
            greeter,
            is_linked,
            shaper: None,
            rules: ShapeRules::default(),
        }
    }
}
