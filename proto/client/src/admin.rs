//! `admin.v1` of a cluster, asked at whichever of its nodes answers.

mod backups;

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use pb::admin_client::AdminClient;
use proto::admin_v1 as pb;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Response, Status};

pub use backups::Export;

use crate::AddressError;
use crate::limits::{CALL_TIMEOUT_MS, CONNECT_TIMEOUT_MS, MESSAGE_SIZE_BYTES, PEERS};

/// Why a cluster gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdminError {
    /// The request makes no sense; nothing was changed.
    #[error("{0}")]
    Invalid(String),
    /// No node answered, or group 0 cannot answer now. The outcome of a change is unknown; the same may be sent again.
    #[error("no node answers: {0}")]
    Unavailable(String),
}

/// A cluster, by the addresses of some of its nodes.
#[derive(Debug)]
pub struct Admin {
    addresses: Vec<String>,
    timeout: Duration,
    clients: Mutex<BTreeMap<String, AdminClient<Channel>>>,
}

impl Admin {
    /// Nodes at these addresses, `host:port`. Does not connect yet.
    ///
    /// # Errors
    ///
    /// An address is malformed.
    pub fn new(addresses: &[String]) -> Result<Self, AddressError> {
        let admin = Self {
            addresses: addresses.iter().take(PEERS).cloned().collect(),
            timeout: Duration::from_millis(CALL_TIMEOUT_MS),
            clients: Mutex::default(),
        };
        for address in &admin.addresses {
            admin.client(address)?;
        }
        Ok(admin)
    }

    fn client(&self, address: &str) -> Result<AdminClient<Channel>, AddressError> {
        let mut clients = self.clients.lock();
        if let Some(client) = clients.get(address) {
            return Ok(client.clone());
        }
        let endpoint = Endpoint::from_shared(format!("http://{address}"))
            .map_err(|error| AddressError {
                address: address.to_owned(),
                reason: error.to_string(),
            })?
            .connect_timeout(Duration::from_millis(CONNECT_TIMEOUT_MS))
            .tcp_nodelay(true);
        let client =
            AdminClient::new(endpoint.connect_lazy()).max_decoding_message_size(MESSAGE_SIZE_BYTES);
        clients.insert(address.to_owned(), client.clone());
        Ok(client)
    }

    /// One call at one node.
    async fn at<R>(
        &self,
        address: &str,
        call: &impl AsyncFn(AdminClient<Channel>) -> Result<Response<R>, Status>,
    ) -> Result<R, AdminError> {
        let away = |why: &str| AdminError::Unavailable(format!("{address}: {why}"));
        let client = self.client(address);
        let client = client.map_err(|error| away(&error.to_string()))?;
        match tokio::time::timeout(self.timeout, call(client)).await {
            Ok(Ok(answer)) => Ok(answer.into_inner()),
            Ok(Err(status)) => Err(match status.code() {
                Code::InvalidArgument => AdminError::Invalid(status.message().to_owned()),
                Code::Unimplemented => away("the node is still joining, or serves no admin.v1"),
                _ => away(status.message()),
            }),
            Err(_) => Err(away(&format!(
                "no answer in {} ms",
                self.timeout.as_millis()
            ))),
        }
    }

    /// One call at the first node that answers it.
    async fn anywhere<R>(
        &self,
        call: impl AsyncFn(AdminClient<Channel>) -> Result<Response<R>, Status>,
    ) -> Result<R, AdminError> {
        let mut last = AdminError::Unavailable("no address was given".to_owned());
        for address in &self.addresses {
            match self.at(address, &call).await {
                Err(error @ AdminError::Unavailable(_)) => last = error,
                end => return end,
            }
        }
        Err(last)
    }

    /// A read: where the first answer is not proven, the node that leads group 0 is asked as well, and where nobody says who
    /// that is, all are. The newest copy counts.
    async fn read<R>(
        &self,
        copy: impl Fn(&R) -> Option<&pb::MapCopy>,
        call: impl AsyncFn(AdminClient<Channel>) -> Result<Response<R>, Status>,
    ) -> Result<R, AdminError> {
        let mut best = self.anywhere(&call).await?;
        let rank = |answer: &R| copy(answer).map(|copy| (copy.proven, copy.version));
        let leader = copy(&best).map(|copy| copy.leader_address.clone());
        let others = match leader {
            Some(leader) if !leader.is_empty() => vec![leader],
            _ => self.addresses.clone(),
        };
        for address in others {
            if rank(&best).is_none_or(|(proven, _)| proven) {
                break;
            }
            if let Ok(answer) = self.at(&address, &call).await
                && rank(&answer) > rank(&best)
            {
                best = answer;
            }
        }
        Ok(best)
    }

    /// The cluster in a few numbers.
    ///
    /// # Errors
    ///
    /// See [`AdminError`]; so it is for all calls.
    pub async fn status(&self) -> Result<pb::StatusResponse, AdminError> {
        let call = async |mut client: AdminClient<Channel>| {
            client
                .status(self.timed(pb::StatusRequest::default()))
                .await
        };
        self.read(|answer: &pb::StatusResponse| answer.copy.as_ref(), call)
            .await
    }

    /// The nodes.
    ///
    /// # Errors
    ///
    /// See [`AdminError`].
    pub async fn nodes(&self) -> Result<pb::NodesResponse, AdminError> {
        let call = async |mut client: AdminClient<Channel>| {
            client.nodes(self.timed(pb::NodesRequest::default())).await
        };
        self.read(|answer: &pb::NodesResponse| answer.copy.as_ref(), call)
            .await
    }

    /// The shards.
    ///
    /// # Errors
    ///
    /// See [`AdminError`].
    pub async fn shards(&self) -> Result<pb::ShardsResponse, AdminError> {
        let call = async |mut client: AdminClient<Channel>| {
            client
                .shards(self.timed(pb::ShardsRequest::default()))
                .await
        };
        self.read(|answer: &pb::ShardsResponse| answer.copy.as_ref(), call)
            .await
    }

    /// All jobs that are remembered; one of them if `job` is not 0.
    ///
    /// # Errors
    ///
    /// See [`AdminError`].
    pub async fn jobs(&self, job: u64) -> Result<pb::JobsResponse, AdminError> {
        let call = async |mut client: AdminClient<Channel>| {
            let request = pb::JobsRequest { local: false, job };
            client.jobs(self.timed(request)).await
        };
        self.read(|answer: &pb::JobsResponse| answer.copy.as_ref(), call)
            .await
    }

    /// The map in its own layout.
    ///
    /// # Errors
    ///
    /// See [`AdminError`].
    pub async fn map(&self) -> Result<pb::MapResponse, AdminError> {
        let call = async |mut client: AdminClient<Channel>| {
            client.map(self.timed(pb::MapRequest::default())).await
        };
        self.read(|answer: &pb::MapResponse| answer.copy.as_ref(), call)
            .await
    }

    /// Begins to give a replica of one node to another.
    ///
    /// # Errors
    ///
    /// See [`AdminError`].
    pub async fn move_replica(
        &self,
        request: pb::MoveRequest,
    ) -> Result<pb::ChangeResponse, AdminError> {
        self.anywhere(async |mut client: AdminClient<Channel>| {
            client.r#move(self.timed(request)).await
        })
        .await
    }

    /// Begins to empty a node that lives.
    ///
    /// # Errors
    ///
    /// See [`AdminError`].
    pub async fn drain(&self, request: pb::DrainRequest) -> Result<pb::ChangeResponse, AdminError> {
        self.anywhere(async |mut client: AdminClient<Channel>| {
            client.drain(self.timed(request)).await
        })
        .await
    }

    /// Gives a node that was being emptied its place back.
    ///
    /// # Errors
    ///
    /// See [`AdminError`].
    pub async fn undrain(
        &self,
        request: pb::UndrainRequest,
    ) -> Result<pb::ChangeResponse, AdminError> {
        self.anywhere(async |mut client: AdminClient<Channel>| {
            client.undrain(self.timed(request)).await
        })
        .await
    }

    /// Begins to empty a node that is dead and to give it up.
    ///
    /// # Errors
    ///
    /// See [`AdminError`].
    pub async fn replace(
        &self,
        request: pb::ReplaceRequest,
    ) -> Result<pb::ChangeResponse, AdminError> {
        self.anywhere(async |mut client: AdminClient<Channel>| {
            client.replace(self.timed(request)).await
        })
        .await
    }

    /// Takes an empty node out of the cluster.
    ///
    /// # Errors
    ///
    /// See [`AdminError`].
    pub async fn leave(&self, request: pb::LeaveRequest) -> Result<pb::ChangeResponse, AdminError> {
        self.anywhere(async |mut client: AdminClient<Channel>| {
            client.leave(self.timed(request)).await
        })
        .await
    }

    /// Says on which nodes a group's replicas should be.
    ///
    /// # Errors
    ///
    /// See [`AdminError`].
    pub async fn pin(&self, request: pb::PinRequest) -> Result<pb::ChangeResponse, AdminError> {
        self.anywhere(async |mut client: AdminClient<Channel>| {
            client.pin(self.timed(request.clone())).await
        })
        .await
    }

    /// Says which node should lead a group.
    ///
    /// # Errors
    ///
    /// See [`AdminError`].
    pub async fn prefer_leader(
        &self,
        request: pb::PreferLeaderRequest,
    ) -> Result<pb::ChangeResponse, AdminError> {
        self.anywhere(async |mut client: AdminClient<Channel>| {
            client.prefer_leader(self.timed(request)).await
        })
        .await
    }

    /// Begins a split.
    ///
    /// # Errors
    ///
    /// See [`AdminError`].
    pub async fn split(&self, request: pb::SplitRequest) -> Result<pb::ChangeResponse, AdminError> {
        self.anywhere(async |mut client: AdminClient<Channel>| {
            client.split(self.timed(request.clone())).await
        })
        .await
    }

    /// Takes a job back.
    ///
    /// # Errors
    ///
    /// See [`AdminError`].
    pub async fn cancel_job(
        &self,
        request: pb::CancelJobRequest,
    ) -> Result<pb::ChangeResponse, AdminError> {
        self.anywhere(async |mut client: AdminClient<Channel>| {
            client.cancel_job(self.timed(request.clone())).await
        })
        .await
    }

    /// Asks for a hand-over.
    ///
    /// # Errors
    ///
    /// See [`AdminError`].
    pub async fn transfer_leader(
        &self,
        request: pb::TransferLeaderRequest,
    ) -> Result<pb::TransferLeaderResponse, AdminError> {
        self.anywhere(async |mut client: AdminClient<Channel>| {
            client.transfer_leader(self.timed(request)).await
        })
        .await
    }

    fn timed<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        request.set_timeout(self.timeout);
        request
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_cluster_that_is_not_there_is_named_by_its_last_address() {
        // Bound and closed again: nobody listens there.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        drop(listener);
        let admin = Admin::new(std::slice::from_ref(&address)).unwrap();
        let error = admin.status().await.unwrap_err();
        assert!(matches!(error, AdminError::Unavailable(_)));
        assert!(error.to_string().contains(&address), "{error}");
        assert!(Admin::new(&["no address".to_owned()]).is_err());
    }
}
