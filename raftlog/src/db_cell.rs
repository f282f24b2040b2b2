//! A RocksDB that can be closed and opened again under its users.
//!
//! After a failed write or fsync a database must not go on with what it has in memory: what the device kept is
//! unknown. So it is closed and opened again from what is on disk, as a new generation. Users of an older generation
//! are refused, so that none of them writes what it computed from rows that are gone.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use rocksdb::DB;

use crate::errors::{OpenError, StateError};

/// Counts how often a database was opened.
pub(crate) type Generation = u64;

type Opener = Box<dyn Fn() -> Result<DB, OpenError> + Send + Sync>;

struct Current {
    db: Option<Arc<DB>>,
    generation: Generation,
}

/// The database, while it is open.
pub(crate) struct DbCell {
    current: RwLock<Current>,
    opener: Opener,
}

impl DbCell {
    /// Opens the database.
    pub(crate) fn open(opener: Opener) -> Result<Self, OpenError> {
        let db = Some(Arc::new(opener()?));
        Ok(Self {
            current: RwLock::new(Current { db, generation: 1 }),
            opener,
        })
    }

    /// The database as it is now. Held briefly: closing waits for it.
    pub(crate) fn get(&self) -> Result<Arc<DB>, StateError> {
        self.current.read().db.clone().ok_or(StateError::Closed)
    }

    /// The database, if it is still that generation.
    pub(crate) fn get_at(&self, generation: Generation) -> Result<Arc<DB>, StateError> {
        let current = self.current.read();
        if current.generation == generation {
            current.db.clone().ok_or(StateError::Closed)
        } else {
            Err(StateError::Closed)
        }
    }

    /// The generation that is open, or was last.
    pub(crate) fn generation(&self) -> Generation {
        self.current.read().generation
    }

    /// Closes the database when its last user is done; false if that took longer than `patience`.
    pub(crate) fn close(&self, patience: Duration) -> bool {
        let Some(mut db) = self.current.write().db.take() else {
            return true;
        };
        let deadline = Instant::now() + patience;
        loop {
            match Arc::try_unwrap(db) {
                Ok(owned) => {
                    drop(owned);
                    return true;
                }
                Err(shared) if Instant::now() < deadline => db = shared,
                Err(_) => return false,
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Opens the closed database as the next generation.
    pub(crate) fn reopen(&self) -> Result<(), OpenError> {
        let db = Arc::new((self.opener)()?);
        let mut current = self.current.write();
        current.generation += 1;
        current.db = Some(db);
        Ok(())
    }
}
