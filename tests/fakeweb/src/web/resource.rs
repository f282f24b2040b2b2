//! What one URL answers.

use super::Web;
use super::host::Host;
use super::names::host_name;
use super::page::{Payload, page_key};
use super::unit::UnitKind;
use crate::rng::Purpose;

/// What a URL is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    /// A body with status 200.
    Body,
    /// The same, after so many answers of 503.
    BodyAfter(u32),
    /// A body with status 200 that the robots file forbids.
    Forbidden,
    /// A body with status 200 whose end is missing.
    Cut,
    /// A body with status 200 beyond usual caps.
    Oversize,
    /// A redirect; `target` is the canonical URL, `location` the header's text.
    Redirect {
        status: u16,
        target: String,
        location: String,
    },
    /// A status without a page.
    Status(u16),
}

/// A URL that exists: its place and what it is.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) unit: u32,
    pub(crate) kind: UnitKind,
    pub(crate) member: u32,
    pub(crate) path: String,
    pub(crate) resource: Resource,
}

/// Validators of a body (RFC 9110 section 8.8).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Validators {
    pub(crate) etag: Option<String>,
    /// Seconds since 1970.
    pub(crate) last_modified_s: Option<u64>,
}

/// Midnight of 1 January 2024, in seconds since 1970.
const YEAR_2024_S: u64 = 1_704_067_200;

impl Web {
    /// The URL at (unit, member).
    pub(crate) fn at(&self, host: &Host, unit: u32, kind: UnitKind, member: u32) -> Found {
        let path = self.path(host, unit, kind, member);
        let resource = match kind {
            UnitKind::Page | UnitKind::Text | UnitKind::Image | UnitKind::Duplicate(_) => {
                Resource::Body
            }
            UnitKind::Empty | UnitKind::Exception => Resource::Body,
            UnitKind::Flaky(times) => Resource::BodyAfter(times),
            UnitKind::Disallowed => Resource::Forbidden,
            UnitKind::Truncated => Resource::Cut,
            UnitKind::Oversize => Resource::Oversize,
            UnitKind::NotFound => Resource::Status(404),
            UnitKind::Gone => Resource::Status(410),
            UnitKind::ServerError => Resource::Status(500),
            UnitKind::Chain(redirects) if member == redirects => Resource::Body,
            UnitKind::Chain(_) | UnitKind::Loop(_) | UnitKind::Redirect => {
                self.redirect(host, unit, kind, member)
            }
        };
        Found {
            unit,
            kind,
            member,
            path,
            resource,
        }
    }

    /// The URL at a canonical path, if there is one.
    pub(crate) fn lookup(&self, host: &Host, path: &str) -> Option<Found> {
        let (unit, kind, member) = self.find(host, path)?;
        Some(self.at(host, unit, kind, member))
    }

    fn redirect(&self, host: &Host, unit: u32, kind: UnitKind, member: u32) -> Resource {
        let mut rng = self.rng(Purpose::Redirect, host.index, page_key(unit, member));
        let status = rng.pick(&[301, 302, 303, 307, 308]);
        let (name, path) = match kind {
            UnitKind::Chain(_) => (host.name.clone(), self.path(host, unit, kind, member + 1)),
            UnitKind::Loop(length) => (
                host.name.clone(),
                self.path(host, unit, kind, (member + 1) % length),
            ),
            // Half of the plain ones lead to another host's root, the others to any URL.
            _ if rng.chance(500) => (host_name(rng.below(self.hosts)), "/".to_owned()),
            _ => self.any_target(host, &mut rng),
        };
        let target = format!("http://{name}{path}");
        let location = match rng.below(6) {
            _ if !self.features.spellings => target.clone(),
            0..2 if name == host.name => path,
            2 => format!("{target}#part"),
            3 => format!("//{name}{path}"),
            4 => format!("http://{}:80{path}", name.to_ascii_uppercase()),
            _ => target.clone(),
        };
        Resource::Redirect {
            status,
            target,
            location,
        }
    }

    /// The body of a URL that has one.
    pub(crate) fn payload(&self, host: &Host, found: &Found) -> Payload {
        match found.kind {
            UnitKind::Text | UnitKind::Truncated | UnitKind::Oversize => {
                self.text(host, found.unit, found.kind)
            }
            UnitKind::Image => self.image(host, found.unit),
            UnitKind::Duplicate(number) => self.duplicate(number),
            UnitKind::Empty => Payload {
                content_type: "text/html",
                bytes: Vec::new(),
                links: 0,
            },
            _ => self.page(host, found.unit, found.member, &found.path),
        }
    }

    /// The validators of a URL's body: both, one, or none.
    pub(crate) fn validators(&self, host: &Host, found: &Found) -> Validators {
        if !self.features.validators
            || !matches!(found.resource, Resource::Body | Resource::BodyAfter(_))
        {
            return Validators::default();
        }
        let mut rng = self.rng(
            Purpose::Validator,
            host.index,
            page_key(found.unit, found.member),
        );
        let roll = rng.below(5);
        let weak = if rng.chance(300) { "W/" } else { "" };
        let tag = format!("{weak}\"{:016x}\"", rng.next_u64());
        let date_s = YEAR_2024_S + u64::from(rng.below(86_400 * 366));
        Validators {
            etag: (roll < 3).then_some(tag),
            last_modified_s: (roll < 2 || roll == 3).then_some(date_s),
        }
    }
}
