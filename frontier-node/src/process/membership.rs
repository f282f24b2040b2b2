//! Who this process is: the number and the directory of a member, or of a node that joins a cluster first.

use std::net::TcpListener as StdListener;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use urlkey::{FingerprintKey, SuffixList};

use super::running::{ProcessError, blocking, local};
use super::settings::Settings;
use crate::cluster::{
    AddressBook, BootstrapError, Greeter, Member, Newcomer, join_cluster, node_number,
};
use crate::identity::{Asked, Descriptor, IdentityError, draw, read_secret};
use crate::limits::{HELLO_TIMEOUT_MS, JOIN_REACH_MS};

/// The directory as it is found.
struct Found {
    descriptor: Option<Descriptor>,
    book: Arc<AddressBook>,
    process: u64,
    key: Option<FingerprintKey>,
}

/// This node as a member of its cluster, once it has joined one if it is to; `None`: told to stop meanwhile.
pub(super) async fn member(
    settings: &Settings,
    grpc: &StdListener,
    greeter: &Greeter,
    stop: &CancellationToken,
) -> Result<Option<Arc<Member>>, ProcessError> {
    let suffixes = suffixes(settings)?;
    let dir = settings.dir.clone().unwrap_or_default();
    let secret = settings.fingerprint_secret.clone();
    let found = find(dir.clone(), Arc::clone(&suffixes), asked(settings)?, secret).await?;
    let mut descriptor = found.descriptor;
    let is_begun = |d: &Descriptor| d.disk != 0 && !d.admitted;
    let joins = match &descriptor {
        None => !settings.join.is_empty(),
        Some(descriptor) => is_begun(descriptor),
    };
    let (book, process, key) = (found.book, found.process, found.key);
    if joins {
        let newcomer = Newcomer {
            dir: dir.clone(),
            node: settings.node,
            address: reachable(address(settings, settings.number(), grpc)?).await?,
            has_store: !settings.no_store,
            process,
            suffixes: Arc::clone(&suffixes),
            contacts: contacts(settings, &book, descriptor.is_some())?,
            patience_ms: JOIN_REACH_MS,
            book: Arc::clone(&book),
        };
        let joined = tokio::select! {
            () = stop.cancelled() => return Ok(None),
            joined = join_cluster(&newcomer, descriptor, greeter) => joined?,
        };
        tracing::info!(node = node_number(joined.replica), "joined");
        let (written, place) = (joined.clone(), dir.clone());
        blocking(move || Ok(written.write(&place)?)).await?;
        descriptor = Some(joined);
    }
    let replica = descriptor.as_ref().map(|d| d.replica);
    let node = replica.map_or_else(|| settings.number(), node_number);
    let address = address(settings, node, grpc)?;
    let founders = if settings.peers.is_empty() {
        vec![(node, address.clone())]
    } else {
        settings.founders()?
    };
    let member = Member {
        dir,
        node,
        address,
        has_store: !settings.no_store,
        founders,
        shards: settings.shards,
        replicas: settings.replicas,
        key,
        process,
        suffixes,
        book,
        descriptor: parking_lot::RwLock::new(descriptor),
        copy: Arc::default(),
        links: OnceLock::new(),
    };
    blocking(move || {
        let own = member.entry();
        member.book.learn(own.as_slice())?;
        Ok(Some(Arc::new(member)))
    })
    .await
}

fn suffixes(settings: &Settings) -> Result<Arc<SuffixList>, ProcessError> {
    let Some(path) = &settings.suffix_list else {
        return Ok(SuffixList::shipped());
    };
    let text = std::fs::read_to_string(path)
        .map_err(|error| ProcessError::SuffixList(format!("{}: {error}", path.display())))?;
    let list = SuffixList::parse(&text);
    list.map(Arc::new)
        .map_err(|error| ProcessError::SuffixList(error.to_string()))
}

/// What this start asks of a directory that is a member's.
fn asked(settings: &Settings) -> Result<Asked, ProcessError> {
    let named = !settings.peers.is_empty();
    let founders = settings.founders()?.into_iter().filter(|_| named);
    Ok(Asked {
        // The list of founders says which of them this is.
        node: settings.node.or(named.then(|| settings.number())),
        founders: founders.map(|(node, _)| node).collect(),
        shards: settings.shards,
        replicas: settings.replicas,
    })
}

async fn find(
    dir: PathBuf,
    suffixes: Arc<SuffixList>,
    asked: Asked,
    secret: Option<PathBuf>,
) -> Result<Found, ProcessError> {
    blocking(move || {
        raftlog::make_durable_dir(&dir).map_err(|error| IdentityError::Io {
            path: dir.clone(),
            reason: error.to_string(),
        })?;
        let descriptor = Descriptor::read(&dir)?;
        let key = secret.as_deref().map(read_secret).transpose()?;
        if let Some(descriptor) = &descriptor {
            descriptor.check_identity(&suffixes, &asked)?;
            descriptor.check_secret(key)?;
        }
        Ok(Found {
            key,
            descriptor,
            book: Arc::new(AddressBook::open(&dir)?),
            process: u64::from_be_bytes(draw()?),
        })
    })
    .await
}

/// Where others reach a node. The listener knows its port where the setting left it open.
fn address(settings: &Settings, node: u32, grpc: &StdListener) -> Result<String, ProcessError> {
    let founders = settings.founders()?.into_iter();
    let of_peers = founders.filter(|(number, _)| *number == node && !settings.peers.is_empty());
    let told = settings.address.clone();
    match told.or_else(|| of_peers.map(|(_, address)| address).next()) {
        Some(address) if !address.ends_with(":0") => Ok(address),
        _ => Ok(local(grpc)?.to_string()),
    }
}

/// The address that the map is going to name, once a connection to it has come about: this node listens already, and where it
/// does not reach itself others hardly will.
async fn reachable(address: String) -> Result<String, ProcessError> {
    let limit = Duration::from_millis(HELLO_TIMEOUT_MS);
    let reason = match tokio::time::timeout(limit, TcpStream::connect(&address)).await {
        Ok(Ok(_)) => return Ok(address),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "no connection in time".to_owned(),
    };
    let reason = format!(
        "this node is not reached at {address}, which others would be told: {reason}. Name its address with --address"
    );
    Err(BootstrapError::Refused(reason).into())
}

/// Whom a node asks that joins: whom it was told, and once it began to join, whom it has heard of since.
fn contacts(
    settings: &Settings,
    book: &AddressBook,
    is_begun: bool,
) -> Result<Vec<String>, ProcessError> {
    let mut contacts = settings.join.clone();
    if is_begun {
        let known = book.present().into_iter().map(|entry| entry.address);
        contacts.extend(known.filter(|address| !address.is_empty()));
    }
    if contacts.is_empty() {
        let reason = "this directory began to join a cluster: name a member of it with --join";
        return Err(BootstrapError::Refused(reason.to_owned()).into());
    }
    Ok(contacts)
}
