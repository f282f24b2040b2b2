//! Tests of the address table and gate.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// case I4: shared space, metadata, benchmarks, reserved, multicast.
#[test]
fn special_ranges_end_exactly_where_they_end() {
    let special = [
        "0.1.2.3",
        "10.0.0.0",
        "10.255.255.255",
        "100.64.0.0",
        "100.100.100.200",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.255",
        "169.254.169.254",
        "172.16.0.0",
        "172.31.255.255",
        "192.0.0.170",
        "192.0.2.1",
        "192.168.0.1",
        "192.88.99.1",
        "198.18.0.0",
        "198.19.255.255",
        "198.51.100.9",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::1",
        "fe80::1",
        "fc00::1",
        "fdff::1",
        "fec0::1",
        "ff02::1",
        "100::1",
        "64:ff9b:1::1",
        "2001:db8::1",
        "2001::1",
        "2001:10::1",
        "2001:2::1",
        "3fff::1",
        "4000::1",
        "5f00::1",
        "e000::1",
    ];
    for text in special {
        assert_eq!(reach(ip(text)), Reach::Special, "{text}");
    }
    let public = [
        "1.1.1.1",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.1",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2001:200::1",
        "2400::1",
        "2606:4700::1111",
        "3ffe::1",
        "2a00:1450:4001::5",
    ];
    for text in public {
        assert_eq!(reach(ip(text)), Reach::Public, "{text}");
    }
}

/// case I10: the null address is no destination.
#[test]
fn null_is_null() {
    for text in ["0.0.0.0", "::", "::ffff:0.0.0.0"] {
        assert_eq!(reach(ip(text)), Reach::Null, "{text}");
        assert_eq!(
            AddressGate::default().check(ip(text)),
            Err(AddressError::Null)
        );
    }
    assert_eq!(
        AddressGate::default().vet(&[ip("0.0.0.0"), ip("::")]),
        Err(AddressError::Null)
    );
    assert_eq!(AddressGate::default().vet(&[]), Err(AddressError::Null));
    assert_eq!(
        AddressGate::default().vet(&[ip("0.0.0.0"), ip("1.1.1.1")]),
        Ok(vec![ip("1.1.1.1")])
    );
}

/// case I1, case C25: IPv4 in every IPv6 disguise is judged as what it leads to.
#[test]
fn ipv4_inside_ipv6_is_unwrapped() {
    for text in [
        "::ffff:127.0.0.1",
        "::127.0.0.1",
        "::ffff:0:127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "2002:a00:1::1",
        "::ffff:169.254.169.254",
        "::ffff:100.100.100.200",
    ] {
        assert_eq!(reach(ip(text)), Reach::Special, "{text}");
    }
    for text in ["::ffff:1.1.1.1", "64:ff9b::101:101", "2002:101:101::1"] {
        assert_eq!(reach(ip(text)), Reach::Public, "{text}");
    }
    // Teredo hides its client: refused whatever it carries.
    assert_eq!(reach(ip("2001:0:101:101::fefe:fefe")), Reach::Special);
}

/// case I5: a name with addresses on both sides is refused as a whole.
#[test]
fn mixed_answers_are_refused() {
    let gate = AddressGate::default();
    assert_eq!(
        gate.vet(&[ip("1.1.1.1"), ip("10.0.0.1")]),
        Err(AddressError::Mixed)
    );
    assert_eq!(gate.vet(&[ip("10.0.0.1")]), Err(AddressError::Private));
    assert_eq!(
        gate.vet(&[ip("1.1.1.1"), ip("2606:4700::1111")])
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn exceptions_open_ranges_and_nothing_else() {
    let gate = AddressGate::new(vec![
        "127.0.0.0/8".parse().unwrap(),
        "fd00::/8".parse().unwrap(),
    ]);
    for open in ["127.0.0.1", "::ffff:127.9.9.9", "fd12::1", "1.1.1.1"] {
        assert_eq!(gate.check(ip(open)), Ok(()), "{open}");
    }
    for closed in ["10.0.0.1", "::1", "fc00::1"] {
        assert_eq!(
            gate.check(ip(closed)),
            Err(AddressError::Private),
            "{closed}"
        );
    }
    assert!(gate.vet(&[ip("127.0.0.1"), ip("1.1.1.1")]).is_ok());
}
