//! What makes several nodes one cluster.
//!
//! | file | concept |
//! |---|---|
//! | `replica_id` | node numbers, incarnations and the ids made of them |
//! | `address_book` | where replicas are, kept on disk |

mod address_book;
mod replica_id;

pub use address_book::{AddressBook, BookError, NodeEntry};
pub use replica_id::{incarnation, node_number, replica_id, store_id};
