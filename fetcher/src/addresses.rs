//! Which addresses may be connected to: a table of everything that is not the public internet, and a list of exceptions.
//!
//! Own table, because the standard library's checks are partly unstable and miss shared address space and the metadata
//! addresses in it (case I4). Sources are the IANA special-purpose registries for IPv4 and IPv6.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// IPv4 that is refused: (network, prefix length).
const SPECIAL_V4: [([u8; 4], u8); 16] = [
    ([0, 0, 0, 0], 8),       // this network
    ([10, 0, 0, 0], 8),      // private
    ([100, 64, 0, 0], 10),   // shared by carriers (RFC 6598), cloud metadata
    ([127, 0, 0, 0], 8),     // loopback
    ([169, 254, 0, 0], 16),  // link-local, cloud metadata
    ([172, 16, 0, 0], 12),   // private
    ([192, 0, 0, 0], 24),    // protocol assignments
    ([192, 0, 2, 0], 24),    // documentation
    ([192, 31, 196, 0], 24), // AS112
    ([192, 52, 193, 0], 24), // AMT
    ([192, 88, 99, 0], 24),  // 6to4 relays
    ([192, 168, 0, 0], 16),  // private
    ([198, 18, 0, 0], 15),   // benchmarks
    ([198, 51, 100, 0], 24), // documentation
    ([203, 0, 113, 0], 24),  // documentation
    ([224, 0, 0, 0], 3),     // multicast, reserved, broadcast
];

/// IPv6 inside 2000::/3 that is refused; outside of it all is, but for NAT64.
const SPECIAL_V6: [([u16; 8], u8); 4] = [
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), // protocol assignments, Teredo, benchmarks, ORCHID
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), // documentation
    ([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0], 48), // AS112
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), // documentation
];

/// What the table says of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// On the public internet.
    Public,
    /// Private, local, reserved or otherwise special.
    Special,
    /// 0.0.0.0 or ::, which name servers answer for names that should not resolve (case I10).
    Null,
}

/// Looks an address up. IPv4 carried in IPv6 (mapped, compatible, NAT64, 6to4) is judged as the IPv4 address it leads to;
/// Teredo is refused as a whole.
#[must_use]
pub fn reach(address: IpAddr) -> Reach {
    match unwrap_v4(address) {
        IpAddr::V4(v4) if v4.is_unspecified() => Reach::Null,
        IpAddr::V4(v4) => public_if(
            !SPECIAL_V4
                .iter()
                .any(|(network, length)| in_v4(v4, *network, *length)),
        ),
        IpAddr::V6(v6) if v6.is_unspecified() => Reach::Null,
        IpAddr::V6(v6) => {
            let global = in_v6(v6, [0x2000, 0, 0, 0, 0, 0, 0, 0], 3);
            public_if(
                global
                    && !SPECIAL_V6
                        .iter()
                        .any(|(network, length)| in_v6(v6, *network, *length)),
            )
        }
    }
}

/// The IPv4 address an IPv6 address leads to, if it is of such a kind; else the address itself.
#[must_use]
pub fn unwrap_v4(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else {
        return address;
    };
    let s = v6.segments();
    let from = |high: u16, low: u16| {
        let (h, l) = (high.to_be_bytes(), low.to_be_bytes());
        IpAddr::V4(Ipv4Addr::new(h[0], h[1], l[0], l[1]))
    };
    match s {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => address,
        // Compatible, mapped, translated (RFC 2765): ::a.b.c.d, ::ffff:a.b.c.d, ::ffff:0:a.b.c.d.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => {
            from(high, low)
        }
        // NAT64 (RFC 6052).
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => from(high, low),
        // 6to4 (RFC 3056).
        [0x2002, high, low, ..] => from(high, low),
        _ => address,
    }
}

fn public_if(public: bool) -> Reach {
    if public {
        Reach::Public
    } else {
        Reach::Special
    }
}

fn in_v4(address: Ipv4Addr, network: [u8; 4], length: u8) -> bool {
    let shift = 32 - u32::from(length);
    u32::from(address) >> shift == u32::from(Ipv4Addr::from(network)) >> shift
}

fn in_v6(address: Ipv6Addr, network: [u16; 8], length: u8) -> bool {
    let shift = 128 - u32::from(length);
    u128::from(address) >> shift == u128::from(Ipv6Addr::from(network)) >> shift
}

/// Why addresses were refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Every address is private or special, and no exception opens it.
    #[error("the address is private or special")]
    Private,
    /// Some addresses of the name are public and some are not: no honest zone has that (case I5).
    #[error("the name has public and private addresses")]
    Mixed,
    /// The name resolves to the null address only, or to nothing.
    #[error("the name resolves to the null address")]
    Null,
}

/// The rule: public addresses, and what the exceptions open.
#[derive(Debug, Clone, Default)]
pub struct AddressGate {
    allowed: Vec<IpNet>,
}

impl AddressGate {
    /// With these ranges open although they are special.
    #[must_use]
    pub fn new(allowed: Vec<IpNet>) -> Self {
        Self { allowed }
    }

    /// Whether a single address may be connected to.
    ///
    /// # Errors
    ///
    /// [`AddressError::Private`] or, for 0.0.0.0 and ::, [`AddressError::Null`].
    pub fn check(&self, address: IpAddr) -> Result<(), AddressError> {
        match reach(address) {
            Reach::Null => Err(AddressError::Null),
            Reach::Public => Ok(()),
            Reach::Special if self.is_allowed(address) => Ok(()),
            Reach::Special => Err(AddressError::Private),
        }
    }

    /// Judges all addresses of a name together: those that may be connected to, or why none may.
    ///
    /// # Errors
    ///
    /// One refused address refuses the name; null addresses alone do not count.
    pub fn vet(&self, addresses: &[IpAddr]) -> Result<Vec<IpAddr>, AddressError> {
        let mut good = Vec::with_capacity(addresses.len());
        let mut refused = false;
        for address in addresses {
            match self.check(*address) {
                Ok(()) => good.push(*address),
                Err(AddressError::Null) => {}
                Err(_) => refused = true,
            }
        }
        match (good.is_empty(), refused) {
            (false, false) => Ok(good),
            (false, true) => Err(AddressError::Mixed),
            (true, true) => Err(AddressError::Private),
            (true, false) => Err(AddressError::Null),
        }
    }

    fn is_allowed(&self, address: IpAddr) -> bool {
        let inner = unwrap_v4(address);
        self.allowed
            .iter()
            .any(|net| net.contains(&address) || net.contains(&inner))
    }
}

#[cfg(test)]
#[path = "addresses_tests.rs"]
mod tests;
