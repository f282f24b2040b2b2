//! What a node that has the shard map is opened with.

use std::sync::Arc;

use raftlog::NodeId;

use super::map_cell::MapCell;
use super::rules::ShapeRules;
use super::shaper::Shaper;
use crate::cluster::{Greeter, Member};

/// Whether this node has an open link to a replica's process.
pub type IsLinked = Arc<dyn Fn(NodeId) -> bool + Send + Sync>;

/// Options of the shard map.
#[derive(Clone)]
pub struct MapOptions {
    /// Calls of other nodes.
    pub greeter: Arc<Greeter>,
    /// Who lives, for people.
    pub is_linked: IsLinked,
    /// Where this node's copy is; others hear of its version.
    pub(crate) copy: Arc<MapCell>,
    /// What carries jobs out; `None`: the shards' leaders, asked over the nodes' internal service.
    pub shaper: Option<Arc<dyn Shaper>>,
    /// Where moves are pretended, this node's replica of group 0 stays as it is.
    #[cfg(test)]
    pub(crate) keeps_zero: bool,
    /// What its leader does unasked.
    pub rules: ShapeRules,
}

impl MapOptions {
    /// A map whose jobs are carried out by the shards' leaders.
    pub fn new(greeter: Arc<Greeter>, member: &Member, is_linked: IsLinked) -> Self {
        Self {
            greeter,
            is_linked,
            copy: Arc::clone(&member.copy),
            shaper: None,
            #[cfg(test)]
            keeps_zero: false,
            rules: ShapeRules::default(),
        }
    }
}
