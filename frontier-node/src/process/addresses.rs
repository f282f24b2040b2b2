//! Where this node and others are, as settings say.

use std::net::IpAddr;

use super::settings::{Settings, SettingsError, wrong};
use crate::limits::NODE_NUMBER;

impl Settings {
    /// The founding nodes, ascending; a cluster of one if none are named.
    ///
    /// # Errors
    ///
    /// One is malformed or named twice.
    pub fn founders(&self) -> Result<Vec<(u32, String)>, SettingsError> {
        if self.peers.is_empty() {
            return Ok(vec![(self.number(), self.listen().to_string())]);
        }
        let mut founders = Vec::with_capacity(self.peers.len());
        for text in &self.peers {
            let parsed = text.split_once('=').and_then(|(number, address)| {
                let number: u32 = number.trim().parse().ok()?;
                (is_address(address) && (1..=NODE_NUMBER).contains(&u64::from(number)))
                    .then(|| (number, address.trim().to_owned()))
            });
            founders.push(
                parsed.ok_or_else(|| wrong("peer", format!("{text:?} is not NUMBER=HOST:PORT")))?,
            );
        }
        founders.sort();
        if let Some(twice) = founders.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(wrong("peer", format!("node {} is named twice", twice[0].0)));
        }
        Ok(founders)
    }

    /// This node among those that found a cluster.
    fn own_peer(&self) -> Result<Option<String>, SettingsError> {
        let mut founders = self.founders()?.into_iter();
        let own = founders.find(|(number, _)| *number == self.number());
        Ok(own.filter(|_| !self.peers.is_empty()).map(|(_, a)| a))
    }

    /// Where others reach this node, as far as settings say; its port may be 0.
    ///
    /// # Errors
    ///
    /// As for [`Self::founders`].
    pub fn own_address(&self) -> Result<Option<String>, SettingsError> {
        match &self.address {
            Some(address) => Ok(Some(address.clone())),
            None => self.own_peer(),
        }
    }

    /// Who joins a cluster founds none.
    pub(super) fn check_join(&self) -> Result<(), SettingsError> {
        if self.join.is_empty() {
            return Ok(());
        }
        if !self.peers.is_empty() {
            return Err(wrong(
                "join",
                "a node that joins a cluster founds none: leave out --peer, and say with --address where others reach it",
            ));
        }
        match self.join.iter().find(|address| !is_address(address)) {
            Some(address) => Err(wrong("join", format!("{address:?} is not HOST:PORT"))),
            None => Ok(()),
        }
    }

    /// Others are told this address, so it must lead to this machine and not to whichever asks.
    pub(super) fn check_own(&self) -> Result<(), SettingsError> {
        if let Some(address) = self.address.as_ref().filter(|address| !is_address(address)) {
            return Err(wrong("address", format!("{address:?} is not HOST:PORT")));
        }
        let of_peers = self.own_peer()?.filter(|told| !told.ends_with(":0"));
        if let (Some(told), Some(peer)) = (&self.address, of_peers)
            && *told != peer
        {
            return Err(wrong(
                "address",
                format!("{told} is not this node's own peer entry, {peer}"),
            ));
        }
        if !self.allow_non_loopback && !self.listen().ip().is_loopback() {
            // The listener is refused, by a better name.
            return Ok(());
        }
        let told = self.own_address()?.unwrap_or_default();
        let host = match told.rsplit_once(':') {
            // The port is the listener's, and so is the host.
            Some((_, "0")) | None => self.listen().ip().to_string(),
            Some((host, _)) => host.trim_matches(['[', ']']).to_owned(),
        };
        if host.parse::<IpAddr>().is_ok_and(|ip| ip.is_unspecified()) {
            return Err(wrong(
                "address",
                format!(
                    "{host} is no address that others reach: name this node with --address HOST:PORT, or in a cluster that is founded with --peer {}=HOST:PORT",
                    self.number()
                ),
            ));
        }
        Ok(())
    }

    /// Others reach this node where it tells them; if that is the place of another process, this one speaks in its name.
    pub(super) fn check_port(&self) -> Result<(), SettingsError> {
        let listen = self.listen().port();
        let Some(address) = self.own_address()? else {
            return Ok(());
        };
        let told = address.rsplit_once(':').map_or("", |(_, port)| port);
        if listen == 0 || told == "0" || told == listen.to_string() {
            return Ok(());
        }
        let what = if self.address.is_some() {
            format!("that which others are told, {address}")
        } else {
            let node = self.number();
            format!("that of this node's own peer entry, {node}={address}")
        };
        Err(wrong("listen", format!("port {listen} is not {what}")))
    }
}

fn is_address(text: &str) -> bool {
    text.rsplit_once(':')
        .is_some_and(|(host, port)| !host.trim().is_empty() && port.parse::<u16>().is_ok())
}
